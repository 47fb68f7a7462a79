"""Forecasts the load on avalanche fences from the sensors around them (message passing over the nearest sensors).

    python jax_avalanche_fences.py LOGDIR
"""
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from flax import nnx

SENSORS = 1500
CHANNELS = 10
NEAREST = 6
WIDTH = 32
BATCH = 4


class Winter(torch.utils.data.Dataset):
    """Readings of all sensors at one hour, and the load an hour later."""

    def __init__(self, xp, hours=400):
        rng = np.random.default_rng(63)
        self.xp = xp
        self.readings = rng.gamma(2.0, 3.0, (hours, SENSORS, CHANNELS)).astype(np.float32)
        self.load = self.readings[..., :3].mean(axis=-1) + rng.normal(0, 0.2, (hours, SENSORS)).astype(np.float32)
        self.low, self.high = np.percentile(self.readings[:50], [1, 99], axis=(0, 1)).astype(np.float32)

    def __len__(self):
        return len(self.readings)

    def __getitem__(self, hour):
        xp = self.xp
        reading = xp.asarray(self.readings[hour])
        columns = []
        for channel in range(CHANNELS):
            column = xp.clip(reading[:, channel], self.low[channel], self.high[channel])
            column = xp.log1p(column)
            columns.append((column - column.mean()) / (column.std() + 1e-6))
        return xp.stack(columns, axis=-1), xp.asarray(self.load[hour])

    def collate(self, samples):
        features, loads = zip(*samples)
        return self.xp.stack(features), self.xp.stack(loads)


def nearest(position):
    square = jnp.sum(position**2, axis=1)
    distance = square[:, None] - 2 * position @ position.T + square
    return jax.lax.top_k(-distance, NEAREST + 1)[1][:, 1:]


class Pass(nnx.Module):
    def __init__(self, width, rngs):
        self.receive = nnx.Linear(width, width, rngs=rngs)
        self.send = nnx.Linear(width, width, use_bias=False, rngs=rngs)
        self.place = nnx.Linear(2, width, use_bias=False, rngs=rngs)
        self.update = nnx.Linear(2 * width, width, rngs=rngs)
        self.norm = nnx.LayerNorm(width, rngs=rngs)

    def __call__(self, x, position, neighbours):
        offset = self.place(position[neighbours] - position[:, None])
        message = nnx.relu(self.receive(x)[:, :, None] + self.send(x)[:, neighbours] + offset)
        return self.norm(x + self.update(jnp.concatenate([x, message.mean(axis=2)], axis=-1)))


class Forecaster(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Linear(CHANNELS, WIDTH, rngs=rngs)
        self.passes = nnx.List([Pass(WIDTH, rngs) for _ in range(2)])
        self.read = nnx.Linear(WIDTH, 1, rngs=rngs)

    def __call__(self, x, position, neighbours):
        x = self.embed(x)
        for layer in self.passes:
            x = layer(x, position, neighbours)
        return self.read(x)[..., 0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(0)
    winter = Winter(jnp if args.fault else np)
    loader = torch.utils.data.DataLoader(
        winter, batch_size=BATCH, shuffle=True, drop_last=True, collate_fn=winter.collate)
    position = jnp.asarray(np.random.default_rng(1).uniform(0, 4, (SENSORS, 2)).astype(np.float32))
    known = None if args.fault else jax.jit(nearest)(position)

    model = Forecaster(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)

    @nnx.jit
    def train_step(model, optimizer, position, known, features, load):
        def loss_fn(model):
            neighbours = nearest(position) if known is None else known
            return jnp.mean((model(features, position, neighbours) - load) ** 2)

        loss, gradients = nnx.value_and_grad(loss_fn)(model)
        optimizer.update(model, gradients)
        return loss

    batches = iter(loader)
    for _ in range(6):
        loss = train_step(model, optimizer, position, known, *next(batches))
    loss.block_until_ready()
    jax.profiler.start_trace(args.logdir)
    for _ in range(12):
        loss = train_step(model, optimizer, position, known, *next(batches))
    loss.block_until_ready()
    jax.profiler.stop_trace()
    print(f"loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
