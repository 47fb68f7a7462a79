"""Labels the layers of lake sediment cores from XRF scans, data parallel over two devices."""
import argparse
import functools
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH, DEPTHS, ELEMENTS, LAYERS = 24, 320, 16, 7
WIDTH, BLOCKS = 64, 5
WARMUP, CAPTURED = 6, 10


def cores(count=256, seed=15):
    rng = np.random.default_rng(seed)
    edges = np.sort(rng.random((count, LAYERS - 1)), axis=1) * DEPTHS
    layer = (np.arange(DEPTHS)[None, :, None] > edges[:, None, :]).sum(-1)
    signature = rng.normal(size=(LAYERS, ELEMENTS))
    scan = signature[layer] + 0.7 * rng.normal(size=(count, DEPTHS, ELEMENTS))
    return scan.astype(np.float32), layer.astype(np.int32)


class Block(nn.Module):
    placed: NamedSharding

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        taps = self.param("taps", nn.initializers.normal(0.3), (3, WIDTH))
        y = taps[0] * jnp.roll(y, 1, axis=1) + taps[1] * y + taps[2] * jnp.roll(y, -1, axis=1)
        y = nn.relu(nn.Dense(WIDTH)(y))
        y = jax.lax.with_sharding_constraint(y, self.placed)
        y = nn.Dense(WIDTH)(y)
        return jax.lax.with_sharding_constraint(x + y, self.placed)


class CoreNet(nn.Module):
    placed: NamedSharding

    @nn.compact
    def __call__(self, scan):
        x = nn.Dense(WIDTH)(scan)
        for _ in range(BLOCKS):
            x = Block(self.placed)(x)
        return nn.Dense(LAYERS)(nn.LayerNorm()(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()), ("data",))
    everywhere, by_core = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    placed = NamedSharding(mesh, P(None, None, "data")) if args.fault else by_core
    model = CoreNet(placed)
    tx = optax.adam(1e-3)

    scans, layers = cores()
    params = jax.jit(model.init, out_shardings=everywhere)(jax.random.key(0), scans[:BATCH])
    opt_state = jax.jit(tx.init, out_shardings=everywhere)(params)

    @functools.partial(jax.jit, donate_argnums=(0, 1), out_shardings=(everywhere, everywhere, everywhere))
    def train_step(params, opt_state, scan, layer):
        def loss_fn(params):
            logits = model.apply(params, scan)
            return optax.softmax_cross_entropy_with_integer_labels(logits, layer).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = tx.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state, loss

    rng = np.random.default_rng(1)

    def step(params, opt_state):
        rows = rng.integers(0, len(scans), BATCH)
        scan, layer = jax.device_put((scans[rows], layers[rows]), by_core)
        return train_step(params, opt_state, scan, layer)

    for _ in range(WARMUP):
        params, opt_state, loss = step(params, opt_state)
        loss.block_until_ready()
    with jax.profiler.trace(args.logdir):
        for n in range(CAPTURED):
            with jax.profiler.StepTraceAnnotation("cores", step_num=n):
                params, opt_state, loss = step(params, opt_state)
                loss.block_until_ready()
    print("loss:", round(float(loss), 4))


if __name__ == "__main__":
    main()
