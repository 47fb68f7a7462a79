"""Sea-ice concentration seven days ahead, as an anomaly to the daily climatology.

The windows come from a torch DataLoader, the model is flax linen.
"""

import argparse
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from flax.training import train_state
from torch.utils.data import DataLoader, Dataset

LAT, LON = 96, 128
HISTORY, LEAD = 4, 7
BATCH = 8


def synthesise(years=1, seed=0):
    rng = np.random.default_rng(seed)
    day = np.arange(366)[:, None, None]
    lat = np.linspace(0, 1, LAT)[:, None]
    season = 0.5 + 0.4 * np.cos(2 * np.pi * (day - 75) / 366)
    normals = np.clip(season * lat * 1.6 + 0.05 * rng.standard_normal((LAT, LON)), 0, 1)
    quantiles = np.stack([normals + shift for shift in (-0.2, -0.08, 0.0, 0.08, 0.2)], axis=-1).astype(np.float32)
    noise = rng.standard_normal((366 * years, LAT // 8, LON // 8)).cumsum(axis=0) * 0.02
    ice = np.tile(normals, (years, 1, 1)) + np.kron(noise, np.ones((1, 8, 8)))
    return np.clip(ice, 0, 1).astype(np.float32), quantiles


class IceWindows(Dataset):
    def __init__(self, ice):
        self.ice = torch.from_numpy(ice)

    def __len__(self):
        return len(self.ice) - HISTORY - LEAD

    def __getitem__(self, start):
        target = start + HISTORY - 1 + LEAD
        return self.ice[start : start + HISTORY], self.ice[target], target % 366


class IceNet(nn.Module):
    width: int = 32

    @nn.compact
    def __call__(self, history, normals):
        x = jnp.concatenate([jnp.moveaxis(history, 1, -1), normals], axis=-1)
        x = nn.Conv(self.width, (4, 4), strides=(4, 4))(x)
        for _ in range(3):
            h = nn.LayerNorm()(x)
            h = nn.gelu(nn.Conv(2 * self.width, (3, 3))(h))
            x = x + nn.Conv(self.width, (1, 1))(h)
        return nn.ConvTranspose(1, (4, 4), strides=(4, 4))(x)[..., 0]


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, history, target, days, climatology):
    normals = climatology[days]

    def loss_fn(params):
        anomaly = state.apply_fn({"params": params}, history, normals)
        return jnp.mean(jnp.abs(normals[..., 2] + anomaly - target))

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


def forever(loader):
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    ice, quantiles = synthesise()
    torch.manual_seed(0)
    loader = forever(DataLoader(IceWindows(ice), batch_size=BATCH, shuffle=True, drop_last=True))
    climatology = quantiles if args.fault else jax.device_put(quantiles)

    model = IceNet()
    params = model.init(jax.random.key(0), jnp.zeros((1, HISTORY, LAT, LON)), jnp.zeros((1, LAT, LON, 5)))["params"]
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-3))

    losses = []

    def run(steps):
        nonlocal state
        for _ in range(steps):
            history, target, days = next(loader)
            state, loss = train_step(state, history.numpy(), target.numpy(), days.numpy(), climatology)
            losses.append(loss)
        jax.block_until_ready(state.params)

    run(6)
    with jax.profiler.trace(args.logdir):
        run(12)
    print("mean absolute error", float(losses[0]), float(losses[-1]))


if __name__ == "__main__":
    main()
