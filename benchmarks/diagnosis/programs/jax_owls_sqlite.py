"""Predicts where owls breed; each batch is a query of a database in random order, or rows of a table read once."""

import sqlite3
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

PLACES, MEASURES, WIDTH, BATCH = 100_000, 24, 640, 256
COLUMNS = [f"m{number}" for number in range(MEASURES)]
STEPS = 16


@jax.jit
def step(params, places, broods):
    def loss_fn(params):
        hidden = places
        for weights, bias in params[:-1]:
            hidden = jnp.tanh(hidden @ weights + bias)
        weights, bias = params[-1]
        rate = (hidden @ weights + bias)[:, 0]
        return jnp.mean(jnp.exp(rate) - broods * rate)

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.02 * g, params, gradients), loss


def fill(file, random):
    database = sqlite3.connect(file)
    database.execute(f"CREATE TABLE owls (broods INTEGER, {', '.join(f'{name} REAL' for name in COLUMNS)})")
    rows = np.column_stack([random.poisson(1.0, PLACES), random.random((PLACES, MEASURES))])
    database.executemany(f"INSERT INTO owls VALUES ({', '.join('?' * (MEASURES + 1))})", rows.tolist())
    database.commit()
    return database


def from_database(database):
    while True:
        rows = np.array(database.execute("SELECT * FROM owls ORDER BY RANDOM() LIMIT ?", (BATCH,)).fetchall())
        yield rows[:, 1:].astype(np.float32), rows[:, 0].astype(np.float32)


def from_memory(database, random):
    rows = np.array(database.execute("SELECT * FROM owls").fetchall(), np.float32)
    while True:
        chosen = rows[random.integers(0, len(rows), BATCH)]
        yield chosen[:, 1:], chosen[:, 0]


def main(logdir, faulty):
    random = np.random.default_rng(53)
    sizes = [MEASURES, WIDTH, WIDTH, WIDTH, 1]
    params = [
        (jnp.asarray(random.normal(0, 0.06, shape), jnp.float32), jnp.zeros(shape[1])) for shape in pairwise(sizes)
    ]

    def train(params, batches, steps):
        for _ in range(steps):
            params, loss = step(params, *next(batches))
        loss.block_until_ready()
        return params

    with tempfile.TemporaryDirectory() as folder:
        database = fill(Path(folder) / "owls.db", random)
        batches = from_database(database) if faulty else from_memory(database, random)
        params = train(params, batches, 4)
        jax.profiler.start_trace(logdir)
        train(params, batches, STEPS)
        jax.profiler.stop_trace()
        database.close()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
