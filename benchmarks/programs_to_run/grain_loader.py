"""Grain reads the batches, on the thread that dispatches, through a slow function."""

import sys

import grain.python as grain
import jax
import jax.numpy as jnp
import numpy as np
from step_times import tick


class Rows:
    def __len__(self):
        return 1 << 20

    def __getitem__(self, number):
        return np.sort(np.random.default_rng(number).random(4096, dtype=np.float32))


@jax.jit
def train_step(w, x):
    loss, gradient = jax.value_and_grad(lambda v: jnp.mean((x @ v) ** 2))(w)
    return w - 0.01 * gradient, loss


batches = iter(grain.MapDataset.source(Rows()).batch(32).to_iter_dataset(grain.ReadOptions(num_threads=0)))
w = jnp.ones((4096, 8)) * 0.01
for _ in range(int(sys.argv[1])):
    w, loss = train_step(w, next(batches))
    loss.block_until_ready()
    tick()
