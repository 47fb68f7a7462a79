import os

import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def scatter_update(table, indices, rows):
    return table.at[jnp.asarray(indices)].add(0.01 * rows)


def train(steps):
    rng = np.random.default_rng(0)
    table = jnp.zeros((10_000, 16))
    rows = jnp.asarray(rng.normal(size=(1500, 16)), jnp.float32)
    for step in range(steps):
        indices = rng.integers(0, 10_000, 1500).tolist()
        table = scatter_update(table, indices, rows)
        if step % 50 == 0:
            print(step, float(table.mean()))


train(int(os.environ.get("STEPS", 2000)))
