"""Two hosts train a network together; the first writes a checkpoint after each step, or only at the end."""

import gzip
import os
import pickle
import sys
import tempfile
from pathlib import Path

os.environ["NPROC"] = "1"  # the hosts share a machine of two cores

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec

BATCH, INPUTS, WIDTH = 6144, 128, 512
STEPS = 12


def loss_fn(params, x, y):
    for weights in params[:-1]:
        x = jax.nn.gelu(x @ weights)
    return jnp.mean((x @ params[-1] - y) ** 2)


@jax.jit
def train_step(params, moments, x, y):
    loss, gradients = jax.value_and_grad(loss_fn)(params, x, y)
    moments = [0.9 * m + g for m, g in zip(moments, gradients, strict=True)]
    return [p - 0.01 * m for p, m in zip(params, moments, strict=True)], moments, loss


def save_checkpoint(file, params, moments):
    state = [np.asarray(leaf.addressable_data(0)) for leaf in [*params, *moments]]
    with gzip.open(file, "wb", compresslevel=1) as target:
        pickle.dump([leaf.astype(np.float64).tolist() for leaf in state], target)


def main(logdir, faulty, peers, rank):
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(peers[0], len(peers), rank)
    mesh = jax.make_mesh((len(peers),), ("data",))
    same, split = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    random = np.random.default_rng(22)
    shapes = ((INPUTS, WIDTH), (WIDTH, WIDTH), (WIDTH, 4))

    def everywhere(array):
        return jax.make_array_from_process_local_data(same, array)

    params = [everywhere(random.normal(0, 0.05, shape).astype(np.float32)) for shape in shapes]
    moments = [everywhere(np.zeros(shape, np.float32)) for shape in shapes]
    own = np.random.default_rng(rank)
    x = jax.make_array_from_process_local_data(split, own.random((BATCH, INPUTS), np.float32))
    y = jax.make_array_from_process_local_data(split, own.random((BATCH, 4), np.float32))

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "checkpoint"

        def train(params, moments, steps):
            for number in range(steps):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    params, moments, loss = train_step(params, moments, x, y)
                    loss.block_until_ready()
                    if faulty and rank == 0:
                        save_checkpoint(file, params, moments)
            return params, moments

        params, moments = train(params, moments, 3)
        multihost_utils.sync_global_devices("warm")
        with jax.profiler.trace(logdir):
            params, moments = train(params, moments, STEPS)
        multihost_utils.sync_global_devices("done")


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv, sys.argv[2].split(","), int(sys.argv[3]))
