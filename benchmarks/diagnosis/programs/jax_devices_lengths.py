"""Four devices train a recurrent network on texts of different length; texts lie sorted by length, or mixed."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

CHUNKS, BATCH, WIDTH = 32, 48, 192
STEPS = 12


def main(logdir, faulty):
    mesh = jax.make_mesh((4,), ("data",))
    same, split = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))

    def chunk_loss(weights, state, chunk):
        for _ in range(6):
            state = jnp.tanh(chunk @ weights["in"] + state @ weights["across"])
        return jnp.mean(state**2), state

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(same.spec, split.spec, split.spec), out_specs=same.spec)
    def train_step(weights, chunks, lengths):
        mine = jax.lax.pcast(weights, "data", to="varying")

        def read(number, carried):
            total, state = carried
            (_, state), gradients = jax.value_and_grad(chunk_loss, has_aux=True)(mine, state, chunks[number])
            return jax.tree.map(jnp.add, total, gradients), state

        start = jax.tree.map(jnp.zeros_like, mine), jnp.zeros_like(chunks[0])
        gradients, _ = jax.lax.fori_loop(0, lengths[0], read, start)
        gradients = jax.lax.psum(gradients, "data")
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)

    random = np.random.default_rng(21)
    weights = {
        name: jax.device_put(random.normal(0, 0.05, (WIDTH, WIDTH)).astype(np.float32), same)
        for name in ("in", "across")
    }
    chunks = jax.device_put(random.random((4 * CHUNKS, BATCH, WIDTH), np.float32), split)
    lengths = np.array([4, 6, 8, 30] if faulty else [12, 12, 12, 12], np.int32)
    lengths = jax.device_put(lengths, split)

    def train(weights, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                weights = train_step(weights, chunks, lengths)
                jax.block_until_ready(weights)
        return weights

    weights = train(weights, 3)
    with jax.profiler.trace(logdir):
        train(weights, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
