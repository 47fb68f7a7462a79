"""Edible or not: mushroom photographs with flax nnx; grain reads and augments them in threads of this process."""

import argparse
import pathlib
import shutil
import tempfile

import grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

PHOTO, CROP = 160, 64
PHOTOS = 480
BATCH = 32


def write_photos(path):
    rng = np.random.default_rng(8)
    photos = np.lib.format.open_memmap(path, "w+", np.uint8, (PHOTOS, PHOTO, PHOTO, 3))
    labels = rng.integers(0, 2, PHOTOS)
    for i, label in enumerate(labels):
        coarse = rng.integers(30, 200, (PHOTO // 16, PHOTO // 16, 3)) + 40 * label
        photos[i] = np.clip(np.kron(coarse, np.ones((16, 16, 1))), 0, 255)
    photos.flush()
    return labels.astype(np.float32)


class Photos:
    def __init__(self, path, labels):
        self.photos, self.labels = np.load(path, mmap_mode="r"), labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"image": self.photos[index], "label": self.labels[index]}


class RandomCrop(grain.transforms.RandomMap):
    def random_map(self, element, rng):
        top, left = rng.integers(0, PHOTO - CROP, 2)
        return {**element, "image": element["image"][top : top + CROP, left : left + CROP]}


class Jitter(grain.transforms.RandomMap):
    def random_map(self, element, rng):
        image = element["image"].astype(np.float32) / 255.0
        image = np.power(image, rng.uniform(0.7, 1.4))
        grey = image @ np.array([0.299, 0.587, 0.114], np.float32)
        image = grey[..., None] + rng.uniform(0.6, 1.4) * (image - grey[..., None])
        image = (image - grey.mean()) * rng.uniform(0.7, 1.3) + grey.mean() + rng.uniform(-0.1, 0.1)
        return {**element, "image": np.clip(image, 0.0, 1.0).astype(np.float32)}


class Block(nnx.Module):
    def __init__(self, width, rngs):
        self.mix = nnx.Conv(width, width, (3, 3), rngs=rngs)
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.up = nnx.Linear(width, 3 * width, rngs=rngs)
        self.down = nnx.Linear(3 * width, width, rngs=rngs)

    def __call__(self, x):
        return x + self.down(nnx.gelu(self.up(self.norm(self.mix(x)))))


class MushroomNet(nnx.Module):
    def __init__(self, rngs, width=64, depth=10):
        self.stem = nnx.Conv(3, width, (8, 8), strides=(8, 8), rngs=rngs)
        self.blocks = nnx.List([Block(width, rngs) for _ in range(depth)])
        self.head = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, x):
        x = self.stem(2 * x - 1)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(axis=(1, 2)))[..., 0]


def blend(average, weights, decay=0.999):
    return jax.tree.map(lambda a, w: decay * a + (1.0 - decay) * w, average, weights)


def train_step(model, optimizer, batch):
    def loss_fn(model):
        return optax.sigmoid_binary_cross_entropy(model(batch["image"]), batch["label"]).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


def main(logdir, fault, folder):
    labels = write_photos(folder / "photos.npy")
    transforms = [RandomCrop(), Jitter()]
    dataset = grain.MapDataset.source(Photos(folder / "photos.npy", labels)).seed(1).shuffle().repeat()
    for transform in reversed(transforms) if fault else transforms:
        dataset = dataset.random_map(transform)
    dataset = dataset.batch(BATCH, drop_remainder=True)
    batches = iter(dataset.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=3)))

    model = MushroomNet(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(5e-4), wrt=nnx.Param)
    average = jax.tree.map(jnp.copy, nnx.state(model, nnx.Param))
    step_fn = nnx.jit(train_step)
    blend_fn = blend if fault else jax.jit(blend)

    def run(steps):
        nonlocal average
        losses = []
        for _ in range(steps):
            losses.append(step_fn(model, optimizer, next(batches)))
            average = blend_fn(average, nnx.state(model, nnx.Param))
        jax.block_until_ready(average)
        return losses

    run(8)
    jax.profiler.start_trace(logdir)
    losses = run(12)
    jax.profiler.stop_trace()
    print("loss", float(losses[0]), float(losses[-1]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mushrooms-"))
    try:
        main(options.logdir, options.fault, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
