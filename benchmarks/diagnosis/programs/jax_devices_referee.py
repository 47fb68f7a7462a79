"""Two devices learn how glaciers move and score held-out years; the first scores all of them, or each scores half."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

YEARS, HELD_OUT, BATCH, WIDTH = 6, 80, 48, 192
STEPS = 12


def year_loss(weights, year):
    state = year
    for _ in range(6):
        state = jnp.tanh(state @ weights["along"] + year @ weights["from"])
    return jnp.mean((state - year[:, ::-1]) ** 2)


def main(logdir, faulty):
    mesh = jax.make_mesh((2,), ("data",))
    same, split = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    held_by = same if faulty else split

    def score(weights, years):
        total, _ = jax.lax.scan(lambda total, year: (total + year_loss(weights, year), None), 0.0, years)
        return total / HELD_OUT

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(P(), P("data"), held_by.spec), out_specs=(P(), P()), check_vma=False)
    def train_step(weights, years, held_out):
        def add(total, year):
            return jax.tree.map(jnp.add, total, jax.grad(year_loss)(weights, year)), None

        gradients, _ = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, weights), years)
        if faulty:
            first = jax.lax.axis_index("data") == 0
            scored = jax.lax.cond(first, lambda: score(weights, held_out), lambda: 0.0)
        else:
            scored = score(weights, held_out)
        gradients, scored = jax.lax.psum((gradients, scored), "data")
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients), scored

    random = np.random.default_rng(56)
    weights = {
        name: jax.device_put(random.normal(0, 0.05, (WIDTH, WIDTH)).astype(np.float32), same)
        for name in ("along", "from")
    }
    years = jax.device_put(random.random((2 * YEARS, BATCH, WIDTH), np.float32), split)
    held_out = jax.device_put(random.random((HELD_OUT, BATCH, WIDTH), np.float32), held_by)

    def train(weights, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                weights, scored = train_step(weights, years, held_out)
                scored.block_until_ready()
        return weights

    weights = train(weights, 3)
    with jax.profiler.trace(logdir):
        train(weights, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
