"""Two hosts train on patients' records kept where they were made; one host may have many more visits than the other."""

import os
import sys

os.environ["NPROC"] = "1"  # the hosts share a machine of two cores

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec

VISITS, BATCH, WIDTH = 20, 1536, 320
STEPS = 12


def loss_fn(params, state, visit):
    state = jnp.tanh(visit @ params["in"] + state @ params["across"])
    return jnp.mean((state @ params["out"]) ** 2), state


def make_step(mesh, same, split):
    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(same, split, split), out_specs=same)
    def train_step(params, visits, count):
        mine = jax.lax.pcast(params, "data", to="varying")

        def read(number, carried):
            total, state = carried
            (_, state), gradients = jax.value_and_grad(loss_fn, has_aux=True)(mine, state, visits[number])
            return jax.tree.map(jnp.add, total, gradients), state

        start = jax.tree.map(jnp.zeros_like, mine), jnp.zeros_like(visits[0])
        gradients, _ = jax.lax.fori_loop(0, count[0], read, start)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, jax.lax.psum(gradients, "data"))

    return train_step


def main(logdir, faulty, peers, rank):
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(peers[0], len(peers), rank)
    mesh = jax.make_mesh((len(peers),), ("data",))
    same, split = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    train_step = make_step(mesh, same.spec, split.spec)

    def shared(sharding, array):
        return jax.make_array_from_process_local_data(sharding, array)

    random = np.random.default_rng(23)
    shapes = {"in": (WIDTH, WIDTH), "across": (WIDTH, WIDTH), "out": (WIDTH, 1)}
    params = {name: shared(same, random.normal(0, 0.05, shape).astype(np.float32)) for name, shape in shapes.items()}
    visits = shared(split, np.random.default_rng(rank).random((VISITS, BATCH, WIDTH), np.float32))
    count = [4, 20][rank] if faulty else 12
    count = shared(split, np.array([count], np.int32))

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params = train_step(params, visits, count)
                jax.block_until_ready(params)
        return params

    params = train(params, 3)
    multihost_utils.sync_global_devices("warm")
    with jax.profiler.trace(logdir):
        params = train(params, STEPS)
    multihost_utils.sync_global_devices("done")


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv, sys.argv[2].split(","), int(sys.argv[3]))
