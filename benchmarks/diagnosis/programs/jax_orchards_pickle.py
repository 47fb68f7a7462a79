"""Counts apples on trees; a keeper of checkpoints pickles weights and moments after each step, or at the end."""

import pickle
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

PIXELS, WIDTH, BATCH = 768, 384, 128
STEPS = 12


class Learned(NamedTuple):
    weights: list
    moments: list


class Keeper:
    """The newest checkpoints in a folder, the older ones deleted."""

    def __init__(self, folder, every, most=2):
        self.folder, self.every, self.most = Path(folder), every, most

    def offer(self, number, learned):
        if (number + 1) % self.every:
            return
        with (self.folder / f"{number:06}.pkl").open("wb") as file:
            pickle.dump({"number": number, "learned": jax.tree.map(np.asarray, learned)}, file)
        for old in sorted(self.folder.glob("*.pkl"))[: -self.most]:
            old.unlink()


@jax.jit
def learn(learned, trees, apples):
    def loss_fn(weights):
        hidden = trees
        for one in weights[:-1]:
            hidden = jax.nn.relu(hidden @ one)
        return jnp.mean((hidden @ weights[-1] - apples) ** 2)

    slopes = jax.grad(loss_fn)(learned.weights)
    moments = [0.9 * m + s for m, s in zip(learned.moments, slopes, strict=True)]
    return Learned([w - 0.001 * m for w, m in zip(learned.weights, moments, strict=True)], moments)


def main(logdir, faulty):
    random = np.random.default_rng(22)
    shapes = ((PIXELS, WIDTH), (WIDTH, WIDTH), (WIDTH, 1))
    weights = [jnp.asarray(random.normal(0, 0.03, shape), jnp.float32) for shape in shapes]
    learned = Learned(weights, [jnp.zeros_like(one) for one in weights])
    trees = jnp.asarray(random.random((4, BATCH, PIXELS), np.float32))
    apples = jnp.asarray(random.integers(0, 90, (4, BATCH, 1)), jnp.float32)

    def train(learned, keeper, steps):
        for number in range(steps):
            learned = learn(learned, trees[number % 4], apples[number % 4])
            keeper.offer(number, learned)
        return jax.block_until_ready(learned)

    with tempfile.TemporaryDirectory() as folder:
        learned = train(learned, Keeper(folder, 1), 6)
        with jax.profiler.trace(logdir):
            train(learned, Keeper(folder, 1 if faulty else 1000), STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
