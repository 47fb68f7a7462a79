"""Adds the parcels of a day to their towns inside the model, row after row in a loop, or all in one segment sum."""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

PARCELS, TOWNS, WIDTH = 16_000, 400, 64
STEPS = 12


def row_by_row(vectors, towns):
    def add(number, table):
        return table.at[towns[number]].set(table[towns[number]] + vectors[number])

    return jax.lax.fori_loop(0, PARCELS, add, jnp.zeros((TOWNS, WIDTH)))


def at_once(vectors, towns):
    return jax.ops.segment_sum(vectors, towns, TOWNS)


class Forecast:
    def __init__(self, gather):
        random = np.random.default_rng(14)
        self.gather = gather
        self.inner = jnp.asarray(random.normal(0, 0.1, (20, WIDTH)), jnp.float32)
        self.outer = jnp.asarray(random.normal(0, 0.1, (WIDTH, 1)), jnp.float32)

    @partial(jax.jit, static_argnums=0)
    def step(self, inner, outer, parcels, towns, load):
        vectors = jnp.tanh(parcels @ inner)
        sums = self.gather(vectors, towns)
        hidden = jnp.tanh(sums)
        errors = (hidden @ outer)[:, 0] - load
        outer = outer - 0.01 * hidden.T @ errors[:, None] / TOWNS
        through = (errors[:, None] @ outer.T * (1 - hidden**2))[towns] * (1 - vectors**2)
        return inner - 0.01 * parcels.T @ through / PARCELS, outer, jnp.mean(errors**2)

    def learn(self, days):
        for parcels, towns, load in days:
            self.inner, self.outer, loss = self.step(self.inner, self.outer, parcels, towns, load)
        return loss.block_until_ready()


def main(logdir, faulty):
    random = np.random.default_rng(15)
    days = [
        (random.random((PARCELS, 20), np.float32), random.integers(0, TOWNS, PARCELS), random.random(TOWNS, np.float32))
        for _ in range(STEPS)
    ]
    forecast = Forecast(row_by_row if faulty else at_once)
    forecast.learn(days[:4])
    with jax.profiler.trace(logdir):
        forecast.learn(days)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
