"""Learns corrections of orbits; a term of the loss comes from a Python function called out of the jitted step, or not."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 1024
STEPS = 20


def drag_by_python(heights):
    """Density of the air by table, height by height."""
    table = [(float(height), 1.2 * 0.9**height) for height in range(60)]
    densities = []
    for height in np.asarray(heights):
        lower = max((row for row in table if row[0] <= height), default=table[0])
        densities.append(lower[1])
    return np.array(densities, np.float32)


def drag_by_jax(heights):
    return 1.2 * 0.9 ** jnp.clip(jnp.floor(heights), 0, 59)


def main(logdir, faulty):
    def drag(heights):
        if faulty:
            shape = jax.ShapeDtypeStruct((BATCH,), jnp.float32)
            return jax.pure_callback(drag_by_python, shape, heights)
        return drag_by_jax(heights)

    @jax.jit
    def train_step(params, orbits):
        pull = jax.lax.stop_gradient(drag(orbits[:, 0] * 60))

        def loss_fn(params):
            x = orbits
            for weights in params[:-1]:
                x = jax.nn.elu(x @ weights)
            return jnp.mean(((x @ params[-1])[:, 0] - pull) ** 2)

        loss, gradients = jax.value_and_grad(loss_fn)(params)
        return [p - 0.01 * g for p, g in zip(params, gradients, strict=True)], loss

    random = np.random.default_rng(18)
    params = [jnp.asarray(random.normal(0, 0.1, shape), jnp.float32) for shape in ((12, 384), (384, 384), (384, 1))]
    orbits = jnp.asarray(random.random((BATCH, 12), np.float32))

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params, loss = train_step(params, orbits)
                loss.block_until_ready()
        return params

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    params = train(params, 4)
    with jax.profiler.trace(logdir, profiler_options=options):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
