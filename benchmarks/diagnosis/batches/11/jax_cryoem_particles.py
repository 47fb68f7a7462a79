"""Good and bad cryo-EM particle pictures: torch DataLoader over shards, flax linen network."""

import argparse
import functools
import pathlib
import tempfile

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from torch.utils.data import DataLoader, Dataset

BOX, SHARDS, PER_SHARD, BATCH = 64, 3, 320, 48


def write_shards(folder, rng):
    grid = np.linspace(-1, 1, BOX, dtype=np.float32)
    yy, xx = np.meshgrid(grid, grid, indexing="ij")
    for shard in range(SHARDS):
        good = rng.integers(0, 2, PER_SHARD)
        radius = rng.uniform(0.2, 0.5, (PER_SHARD, 1, 1))
        centre = rng.normal(0, 0.1, (2, PER_SHARD, 1, 1))
        blob = np.exp(-((yy - centre[0]) ** 2 + (xx - centre[1]) ** 2) / radius**2)
        images = blob * good[:, None, None] + rng.normal(0, 0.8, (PER_SHARD, BOX, BOX))
        images = images.astype(np.float32)
        np.savez(folder / f"micrographs_{shard:03d}.npz", images=images, good=good)
        np.save(folder / f"micrographs_{shard:03d}.npy", images)
        np.save(folder / f"labels_{shard:03d}.npy", good)


class ArchiveParticles(Dataset):
    def __init__(self, folder):
        self.paths = sorted(folder.glob("micrographs_*.npz"))

    def __len__(self):
        return len(self.paths) * PER_SHARD

    def __getitem__(self, i):
        archive = np.load(self.paths[i // PER_SHARD])
        image, good = archive["images"][i % PER_SHARD], archive["good"][i % PER_SHARD]
        return torch.from_numpy(image), int(good)


class MappedParticles(Dataset):
    def __init__(self, folder):
        self.images = [np.load(p, mmap_mode="r") for p in sorted(folder.glob("micrographs_*.npy"))]
        self.good = np.concatenate([np.load(p) for p in sorted(folder.glob("labels_*.npy"))])

    def __len__(self):
        return len(self.good)

    def __getitem__(self, i):
        image = np.array(self.images[i // PER_SHARD][i % PER_SHARD])
        return torch.from_numpy(image), int(self.good[i])


class ParticleNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(24, (5, 5), strides=2)(x[..., None])
        for features in (32, 64, 96):
            y = nn.relu(nn.GroupNorm(8)(x))
            y = nn.Conv(features, (3, 3), strides=2)(y)
            y = nn.relu(nn.GroupNorm(8)(y))
            x = nn.Conv(features, (1, 1), strides=2)(x) + nn.Conv(features, (3, 3))(y)
        return nn.Dense(1)(x.mean((1, 2)))[:, 0]


def turn_and_shift(image, angle, shift):
    grid = jnp.arange(BOX) - (BOX - 1) / 2
    yy, xx = jnp.meshgrid(grid, grid, indexing="ij")
    y = jnp.cos(angle) * yy - jnp.sin(angle) * xx + shift[0] + (BOX - 1) / 2
    x = jnp.sin(angle) * yy + jnp.cos(angle) * xx + shift[1] + (BOX - 1) / 2
    return jax.scipy.ndimage.map_coordinates(image, [y, x], order=1, mode="nearest")


def pose(key):
    turn, move = jax.random.split(key)
    return jax.random.uniform(turn, maxval=2 * jnp.pi), 2.0 * jax.random.normal(move, (2,))


def poses_one_by_one(key, count):
    drawn = [pose(jax.random.fold_in(key, i)) for i in range(count)]
    angles, shifts = zip(*drawn)
    return jnp.stack(angles), jnp.stack(shifts)


@functools.partial(jax.jit, static_argnums=1)
def poses(key, count):
    return jax.vmap(pose)(jax.random.split(key, count))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(1)
    net, optimizer = ParticleNet(), optax.adamw(1e-3)
    params = net.init(jax.random.key(1), jnp.zeros((1, BOX, BOX)))
    state = optimizer.init(params)
    draw_poses = poses_one_by_one if args.fault else poses

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def train_step(params, state, images, good, angles, shifts):
        images = jax.vmap(turn_and_shift)(images, angles, shifts)

        def loss_fn(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, images), good).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    with tempfile.TemporaryDirectory(prefix="cryoem") as name:
        folder = pathlib.Path(name)
        write_shards(folder, np.random.default_rng(1))
        particles = (ArchiveParticles if args.fault else MappedParticles)(folder)
        loader = iter(DataLoader(particles, BATCH, shuffle=True, drop_last=True))
        key, losses = jax.random.key(7), []

        def iterate(params, state, step):
            images, good = next(loader)
            angles, shifts = draw_poses(jax.random.fold_in(key, step), BATCH)
            params, state, loss = train_step(params, state, images.numpy(), good.numpy(), angles, shifts)
            losses.append(loss)
            return params, state

        for step in range(5):
            params, state = iterate(params, state, step)
        jax.block_until_ready(params)
        with jax.profiler.trace(args.logdir):
            for step in range(5, 15):
                params, state = iterate(params, state, step)
            jax.block_until_ready(params)


if __name__ == "__main__":
    main()
