"""Forecasts car and passenger demand of ferry lines with a transformer, data parallel over all local devices."""
import argparse
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training.train_state import TrainState
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

HOURS, FEATURES, AHEAD, BATCH, LINES = 120, 14, 24, 24, 40


class Block(nn.Module):
    width: int
    heads: int

    @nn.compact
    def __call__(self, x):
        batch, length, _ = x.shape
        qkv = nn.DenseGeneral((3, self.heads, self.width // self.heads), use_bias=False)(nn.LayerNorm()(x))
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        mixed = jax.nn.dot_product_attention(q, k, v)
        x = x + nn.Dense(self.width)(mixed.reshape(batch, length, self.width))
        h = nn.gelu(nn.Dense(3 * self.width)(nn.LayerNorm()(x)))
        return x + nn.Dense(self.width)(h)


class Forecaster(nn.Module):
    width: int = 128
    depth: int = 3

    @nn.compact
    def __call__(self, history, line):
        x = nn.Dense(self.width)(history) + nn.Embed(LINES, self.width)(line)[:, None]
        x = x + self.param("position", nn.initializers.normal(0.02), (HOURS, self.width))
        for _ in range(self.depth):
            x = Block(self.width, 4)(x)
        x = nn.LayerNorm()(x).mean(axis=1)
        return nn.Dense(AHEAD * 2 * 3)(nn.gelu(nn.Dense(256)(x))).reshape(-1, AHEAD, 2, 3)


QUANTILES = jnp.array([0.1, 0.5, 0.9])


def pinball(forecast, demand):
    gap = demand[..., None] - forecast
    return jnp.maximum(QUANTILES * gap, (QUANTILES - 1) * gap).mean()


def train_step(state, batch):
    def loss_fn(params):
        return pinball(state.apply_fn({"params": params}, batch["history"], batch["line"]), batch["demand"])

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


def batches(seed, sharding):
    rng = np.random.default_rng(seed)
    history = rng.normal(size=(20_000, FEATURES)).cumsum(axis=0).astype(np.float32) / 50
    while True:
        start = rng.integers(0, len(history) - HOURS - AHEAD, BATCH)
        hours = start[:, None] + np.arange(HOURS + AHEAD)
        rows = history[hours]
        batch = {
            "history": rows[:, :HOURS],
            "line": rng.integers(0, LINES, BATCH).astype(np.int32),
            "demand": rows[:, HOURS:, :2],
        }
        yield jax.device_put(batch, sharding)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()), ("data",))
    everywhere, split = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    model = Forecaster()
    source = batches(9, split)
    first = next(source)

    def init():
        params = model.init(jax.random.key(3), first["history"][:1], first["line"][:1])["params"]
        return TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(5e-4, weight_decay=0.01))

    state = jax.jit(init, out_shardings=everywhere)()
    step_fn = jax.jit(train_step, in_shardings=(everywhere, split), out_shardings=(everywhere, everywhere), donate_argnums=0)

    batch, running = first, []
    for _ in range(8):
        state, loss = step_fn(state, batch)
        batch = next(source)
    print(f"warm: {float(loss):.4f}")

    with jax.profiler.trace(args.logdir):
        for _ in range(12):
            state, loss = step_fn(state, batch)
            batch = next(source)  # prepared while the devices work
            running.append(loss)
        mean = float(np.mean(jax.device_get(running)))
    print(f"pinball {mean:.4f}")


if __name__ == "__main__":
    main()
