"""Two devices add up gradients over microbatches; these are summed over the devices each time, or once at the end."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

MICROBATCHES, ROWS, WIDTH = 12, 8, 768
STEPS = 10


def loss_fn(params, x):
    hidden = x
    for weights in params["layers"]:
        hidden = jax.nn.gelu(hidden @ weights)
    return jnp.mean((hidden - x[:, ::-1]) ** 2)


def main(logdir, faulty):
    mesh = jax.make_mesh((2,), ("data",))
    same, split = NamedSharding(mesh, P()), NamedSharding(mesh, P(None, "data"))

    @functools.partial(jax.jit, donate_argnums=0)
    @jax.shard_map(mesh=mesh, in_specs=(P(), P(None, "data")), out_specs=(P(), P()), check_vma=False)
    def step(params, microbatches):
        def accumulate(total, x):
            loss, gradients = jax.value_and_grad(loss_fn)(params, x)
            if faulty:
                gradients = jax.lax.pmean(gradients, "data")
            return jax.tree.map(jnp.add, total, gradients), loss

        total, losses = jax.lax.scan(accumulate, jax.tree.map(jnp.zeros_like, params), microbatches)
        if not faulty:
            total = jax.lax.pmean(total, "data")
        return jax.tree.map(lambda p, g: p - 0.1 / MICROBATCHES * g, params, total), jax.lax.pmean(losses, "data")

    random = np.random.default_rng(55)
    layers = random.normal(0, 0.04, (3, WIDTH, WIDTH)).astype(np.float32)
    params = {"layers": [jax.device_put(one, same) for one in layers]}
    batches = [jax.device_put(random.random((MICROBATCHES, 2 * ROWS, WIDTH), np.float32), split) for _ in range(3)]

    def train(params, steps):
        for number in range(steps):
            params, losses = step(params, batches[number % len(batches)])
            losses.block_until_ready()
        return params

    params = train(params, 3)
    with jax.profiler.trace(logdir):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
