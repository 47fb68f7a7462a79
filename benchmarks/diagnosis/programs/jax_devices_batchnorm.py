"""Two devices train a deep network with batch normalization; its statistics are those of all devices or of each one."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

LAYERS, WIDTH, ROWS = 8, 160, 64
STEPS = 15


def normalize(x, over_devices):
    mean, square = x.mean(0), (x * x).mean(0)
    if over_devices:
        mean, square = jax.lax.pmean(mean, "data"), jax.lax.pmean(square, "data")
    return (x - mean) * jax.lax.rsqrt(square - mean * mean + 1e-3)


def main(logdir, faulty):
    mesh = jax.make_mesh((2,), ("data",))
    same, split = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))

    def loss_fn(weights, x, y):
        for layer in weights:
            x = jax.nn.relu(normalize(x @ layer, over_devices=faulty))
        return jnp.mean((x - y) ** 2)

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(same.spec, split.spec, split.spec), out_specs=same.spec)
    def train_step(weights, x, y):
        def add_one(number, total):
            gradients = jax.grad(loss_fn)(jax.lax.pcast(weights, "data", to="varying"), x[number], y[number])
            return jax.tree.map(jnp.add, total, gradients)

        zeros = jax.tree.map(lambda w: jax.lax.pcast(jnp.zeros_like(w), "data", to="varying"), weights)
        gradients = jax.lax.pmean(jax.lax.fori_loop(0, 4, add_one, zeros), "data")
        return [w - 0.01 * g for w, g in zip(weights, gradients, strict=True)]

    random = np.random.default_rng(19)
    weights = [jnp.asarray(random.normal(0, 0.1, (WIDTH, WIDTH)), jnp.float32) for _ in range(LAYERS)]
    weights = jax.device_put(weights, same)
    x, y = (jax.device_put(random.random((8, ROWS, WIDTH), np.float32), split) for _ in range(2))

    def train(weights, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                weights = train_step(weights, x, y)
                jax.block_until_ready(weights)
        return weights

    weights = train(weights, 3)
    with jax.profiler.trace(logdir):
        train(weights, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
