"""Forecasts rain from a long record; all of it is handed to the step as a NumPy array each time, or put on the device once."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

HOURS, PLACES, WINDOW, BATCH = 60_000, 128, 24, 64
STEPS = 14


@jax.jit
def step(params, record, begins):
    windows = jax.vmap(lambda one: jax.lax.dynamic_slice_in_dim(record, one, WINDOW + 1))(begins)
    inputs, target = windows[:, :-1].reshape(BATCH, -1), windows[:, -1]

    def loss_fn(params):
        hidden = jnp.tanh(inputs @ params[0])
        return jnp.mean((hidden @ params[1] - target) ** 2)

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    return tuple(p - 0.01 * g for p, g in zip(params, gradients, strict=True)), loss


def main(logdir, faulty):
    random = np.random.default_rng(11)
    record = random.random((HOURS, PLACES))
    if not faulty:
        record = jnp.asarray(record, jnp.float32)
    params = tuple(
        jnp.asarray(random.normal(0, 0.02, shape), jnp.float32) for shape in ((WINDOW * PLACES, 256), (256, PLACES))
    )

    def fit(params, steps):
        for _ in range(steps):
            begins = random.integers(0, HOURS - WINDOW - 1, BATCH)
            params, loss = step(params, record, begins)
        loss.block_until_ready()
        return params

    params = fit(params, 3)
    with jax.profiler.trace(logdir):
        fit(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
