"""A network split over two devices by jit; its wide layer is gathered on each of them for every product, or stays split."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

INPUTS, WIDTH, BATCH = 256, 16_384, 32
STEPS = 10


def main(logdir, faulty):
    mesh = Mesh(np.array(jax.devices()), ("model",))
    whole, columns, rows = (NamedSharding(mesh, spec) for spec in (P(), P(None, "model"), P("model", None)))

    @functools.partial(jax.jit, out_shardings=({"up": columns, "down": rows}, whole), donate_argnums=0)
    def step(params, x):
        def loss_fn(params):
            if faulty:
                params = jax.lax.with_sharding_constraint(params, whole)
            hidden = jax.nn.gelu(x @ params["up"])
            return jnp.mean((hidden @ params["down"] - x) ** 2)

        loss, gradients = jax.value_and_grad(loss_fn)(params)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), loss

    random = np.random.default_rng(25)
    params = {
        "up": jax.device_put(random.normal(0, 0.02, (INPUTS, WIDTH)).astype(np.float32), columns),
        "down": jax.device_put(random.normal(0, 0.02, (WIDTH, INPUTS)).astype(np.float32), rows),
    }
    x = jax.device_put(random.random((BATCH, INPUTS), np.float32), whole)

    def fit(params, steps):
        for _ in range(steps):
            params, loss = step(params, x)
            loss.block_until_ready()
        return params

    params = fit(params, 3)
    with jax.profiler.trace(logdir):
        fit(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
