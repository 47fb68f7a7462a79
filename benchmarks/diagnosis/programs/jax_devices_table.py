"""Two devices hold a half each of a table of vectors; each step gathers all of it everywhere, or only looks up rows."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

ROWS, WIDTH, BATCH = 262_144, 64, 256
ROUNDS = 300
STEPS = 12


def main(logdir, faulty):
    mesh = jax.make_mesh((2,), ("data",))
    split = NamedSharding(mesh, PartitionSpec("data"))
    same = NamedSharding(mesh, PartitionSpec())

    def rows_of(table, wanted):
        if faulty:
            return jax.lax.all_gather(table, "data", tiled=True)[wanted]
        wanted = jax.lax.all_gather(wanted, "data")
        own = wanted - jax.lax.axis_index("data") * (ROWS // 2)
        inside = (own >= 0) & (own < ROWS // 2)
        found = jnp.where(inside[..., None], table[jnp.where(inside, own, 0)], 0.0)
        return jax.lax.psum_scatter(found, "data", tiled=False)

    @jax.jit
    @jax.shard_map(
        mesh=mesh, in_specs=(split.spec, same.spec, split.spec), out_specs=(split.spec, split.spec), check_vma=False
    )
    def train_step(table, mixing, wanted):
        vectors = rows_of(table, wanted)

        def mix(_, x):
            return jnp.tanh(x @ mixing)

        mixed = jax.lax.fori_loop(0, ROUNDS, mix, vectors)
        return table * 0.999, mixed.mean(0, keepdims=True)

    random = np.random.default_rng(20)
    table = jax.device_put(random.random((ROWS, WIDTH), np.float32), split)
    mixing = jax.device_put(random.normal(0, 0.1, (WIDTH, WIDTH)).astype(np.float32), same)
    wanted = jax.device_put(random.integers(0, ROWS, 2 * BATCH), split)

    def train(table, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                table, means = train_step(table, mixing, wanted)
                means.block_until_ready()
        return table

    table = train(table, 3)
    with jax.profiler.trace(logdir):
        train(table, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
