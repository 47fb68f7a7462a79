"""JAX: a small network that prepares its batch in NumPy before each step."""

import inject
import jax
import jax.numpy as jnp
import numpy as np


def loss_fn(params, x, y):
    return jnp.mean((jax.nn.relu(x @ params[0]) @ params[1] - y) ** 2)


@jax.jit
def train_step(params, x, y):
    if inject.KIND == "copy":
        x = jax.lax.optimization_barrier(jnp.flip(x, 0))
    loss, gradients = jax.value_and_grad(loss_fn)(params, x, y)
    if inject.KIND == "op":
        loss = loss + 1e-9 * jnp.sum(x @ jnp.tanh(x.T @ x))
    return [p - 0.01 * g for p, g in zip(params, gradients, strict=True)], loss


params = [jnp.ones((256, 256)) * 0.01, jnp.ones((256, 8)) * 0.01]
tiny = jnp.ones(4)
one_more = jax.jit(lambda value: value + 1)
one_more(tiny).block_until_ready()


def load_batch(number, pace):
    random = np.random.default_rng(number)
    inject.load_data(pace.took)
    return np.sort(random.random((768, 256), dtype=np.float32), axis=1), random.random((768, 8), dtype=np.float32)


def train(params, steps):
    pace = inject.Pace()
    for number in range(steps):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            with pace:
                x, y = load_batch(number, pace)
                params, loss = train_step(params, x, y)
                if inject.KIND == "dispatch":
                    one_more(tiny).block_until_ready()
                if inject.KIND == "recompile":
                    jax.jit(lambda a, n=number: a + n)(tiny)
                if inject.KIND == "launches":
                    value = tiny
                    for _ in range(40):
                        value = value + 1
                    value.block_until_ready()
                loss.block_until_ready()
            inject.log_extra(pace.took)
    return params


params = train(params, 5)
with jax.profiler.trace(inject.LOGDIR):
    train(params, inject.STEPS)
