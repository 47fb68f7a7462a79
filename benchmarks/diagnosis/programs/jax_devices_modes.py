"""Finds the strongest modes of a bridge on two devices; vectors are made orthogonal one by one, or all at once."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

POINTS, MODES, LAYERS = 4096, 40, 6
STEPS = 15


def one_by_one(vectors):
    columns = []
    for number in range(MODES):
        column = vectors[:, number]
        if columns:
            basis = jnp.stack(columns, axis=1)
            column = column - basis @ jax.lax.psum(basis.T @ column, "rows")
        columns.append(column / jnp.sqrt(jax.lax.psum(column @ column, "rows")))
    return jnp.stack(columns, axis=1)


def all_at_once(vectors):
    gram = jax.lax.psum(vectors.T @ vectors, "rows")
    return jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(gram), vectors.T, lower=True).T


def main(logdir, faulty):
    mesh = jax.make_mesh((2,), ("rows",))
    rows = NamedSharding(mesh, P("rows"))
    orthogonal = one_by_one if faulty else all_at_once

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("rows"), P("rows")), out_specs=P("rows"), check_vma=False)
    def iterate(stiffness, vectors):
        for weights in stiffness.swapaxes(0, 1):
            vectors = jnp.tanh(weights[:, None] * vectors) @ (vectors.T @ vectors) + vectors
        return orthogonal(vectors)

    random = np.random.default_rng(5)
    stiffness = jax.device_put(random.random((POINTS, LAYERS), np.float32) + 0.5, rows)
    vectors = jax.device_put(random.normal(size=(POINTS, MODES)).astype(np.float32), rows)

    def solve(vectors, rounds):
        for _ in range(rounds):
            vectors = iterate(stiffness, vectors)
            vectors.block_until_ready()
        return vectors

    vectors = solve(vectors, 3)
    with jax.profiler.trace(logdir):
        solve(vectors, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
