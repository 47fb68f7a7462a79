"""Fits a temperature field to a heat equation; its residual on a large grid is computed array by array, or fused."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

SIDE = 1400
STEPS = 10


def improve(field, source, speed):
    """One step of gradient descent with momentum on the squared residual, written out."""
    across = jnp.roll(field, 1, 0) + jnp.roll(field, -1, 0)
    along = jnp.roll(field, 1, 1) + jnp.roll(field, -1, 1)
    residual = across + along - 4.0 * field + source * jnp.tanh(field)
    damped = residual / (1.0 + jnp.abs(residual))
    speed = 0.9 * speed + 0.1 * damped
    return field + 0.05 * speed - 0.0001 * field * field, speed


def main(logdir, faulty):
    random = np.random.default_rng(17)
    field, source = (jnp.asarray(random.random((SIDE, SIDE), np.float32)) for _ in range(2))
    train_step = improve if faulty else jax.jit(improve)

    def train(field, steps):
        speed = jnp.zeros_like(field)
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("relax", step_num=number):
                field, speed = train_step(field, source, speed)
                field.block_until_ready()
        return field

    field = train(field, 3)
    with jax.profiler.trace(logdir):
        train(field, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
