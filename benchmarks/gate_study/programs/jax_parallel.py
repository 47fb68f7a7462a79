"""JAX: a small network on two devices (both of them parts of the CPU) that average their gradients in every step."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import inject
import jax
import jax.numpy as jnp
import numpy as np


def loss_fn(params, x, y):
    return jnp.mean((jax.nn.relu(x @ params[0]) @ params[1] - y) ** 2)


def train_step(params, x, y):
    loss, gradients = jax.value_and_grad(loss_fn)(params, x, y)
    gradients = jax.lax.pmean(gradients, "data")
    if inject.KIND == "collective":
        loss = loss + 1e-9 * jax.lax.psum(jnp.sum(gradients[0]), "data")  # of a mean: cannot be combined with it
    return [p - 0.01 * g for p, g in zip(params, gradients, strict=True)], loss


step = jax.pmap(train_step, axis_name="data")
params = [jnp.ones((2, 256, 256)) * 0.01, jnp.ones((2, 256, 8)) * 0.01]
x = jnp.asarray(np.random.rand(2, 512, 256), jnp.float32)
y = jnp.asarray(np.random.rand(2, 512, 8), jnp.float32)
tiny = jnp.ones(4)
one_more = jax.jit(lambda value: value + 1)
one_more(tiny).block_until_ready()


def train(params, steps):
    for number in range(steps):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            params, loss = step(params, x, y)
            if inject.KIND == "dispatch":
                one_more(tiny).block_until_ready()
            if inject.KIND == "recompile":
                jax.jit(lambda a, n=number: a + n)(tiny)
            loss.block_until_ready()
    return params


params = train(params, 5)
with jax.profiler.trace(inject.LOGDIR):
    train(params, inject.STEPS)
