"""Word vectors on two devices under pmap; the gradient of the whole table is added up, or that of the rows in use."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import functools

import jax
import jax.numpy as jnp
import numpy as np

WORDS, WIDTH, BATCH = 60_000, 128, 512
STEPS = 10


def main(logdir, faulty):
    def loss_fn(rows, mixing, targets):
        hidden = rows
        for _ in range(10):
            hidden = jnp.tanh(hidden @ mixing)
        return jnp.mean((hidden - targets) ** 2)

    @functools.partial(jax.pmap, axis_name="chips", donate_argnums=0)
    def step(table, mixing, words, targets):
        if faulty:
            gradient = jax.grad(lambda whole: loss_fn(whole[words], mixing, targets))(table)
            return table - 0.1 * jax.lax.psum(gradient, "chips")
        gradient = jax.grad(loss_fn)(table[words], mixing, targets)
        gradients, used = jax.lax.all_gather((gradient, words), "chips", tiled=True)
        return table.at[used].add(-0.1 * gradients)

    random = np.random.default_rng(6)
    table = jax.pmap(lambda key: jax.random.normal(key, (WORDS, WIDTH)))(jnp.stack([jax.random.key(6)] * 2))
    mixing = jnp.asarray(np.stack([random.normal(0, 0.1, (WIDTH, WIDTH)).astype(np.float32)] * 2))
    words = random.integers(0, WORDS, (2, BATCH))
    targets = random.random((2, BATCH, WIDTH), np.float32)

    def fit(table, steps):
        for _ in range(steps):
            table = step(table, mixing, words, targets)
        return jax.block_until_ready(table)

    table = fit(table, 3)
    jax.profiler.start_trace(logdir)
    fit(table, STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
