"""Orchid species from small photographs: flax nnx, images read by grain worker processes."""

import pathlib
import shutil
import sys
import tempfile

import grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
from absl import flags
from flax import nnx

SPECIES = 12
SIZE = 64
BATCH = 48
WARMUP = 8
STEPS = 12


def write_shards(folder: pathlib.Path, shards: int = 8, rows: int = 160) -> None:
    rng = np.random.default_rng(7)
    petals = rng.integers(40, 215, size=(SPECIES, 3))
    for shard in range(shards):
        labels = rng.integers(0, SPECIES, size=rows)
        images = petals[labels][:, None, None, :] + rng.normal(0, 30, size=(rows, SIZE + 8, SIZE + 8, 3))
        np.save(folder / f"images-{shard:02d}.npy", images.clip(0, 255).astype(np.uint8))
        np.save(folder / f"labels-{shard:02d}.npy", labels.astype(np.int32))


class OrchidSource:
    def __init__(self, folder: str):
        self._folder = folder
        self._labels = np.concatenate([np.load(p) for p in sorted(pathlib.Path(folder).glob("labels-*.npy"))])
        self._shards = sorted(str(p) for p in pathlib.Path(folder).glob("images-*.npy"))
        self._rows = len(self._labels) // len(self._shards)
        self._open = {}

    def __getstate__(self):
        return {**self.__dict__, "_open": {}}

    def __len__(self):
        return len(self._labels)

    def __getitem__(self, index):
        shard, row = divmod(int(index), self._rows)
        if shard not in self._open:
            self._open[shard] = np.load(self._shards[shard], mmap_mode="r")
        return {"image": np.asarray(self._open[shard][row]), "label": self._labels[index]}


class RandomCrop(grain.transforms.RandomMap):
    def random_map(self, element, rng: np.random.Generator):
        top, left = rng.integers(0, 9, size=2)
        image = element["image"][top : top + SIZE, left : left + SIZE]
        if rng.random() < 0.5:
            image = image[:, ::-1]
        return {"image": np.ascontiguousarray(image), "label": element["label"]}


class Block(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs):
        self.norm = nnx.GroupNorm(width, num_groups=8, rngs=rngs)
        self.first = nnx.Conv(width, width, (3, 3), rngs=rngs)
        self.second = nnx.Conv(width, width, (3, 3), rngs=rngs)

    def __call__(self, x):
        return x + self.second(nnx.gelu(self.first(self.norm(x))))


class OrchidNet(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.stem = nnx.Conv(3, 32, (4, 4), strides=(4, 4), rngs=rngs)
        self.early = nnx.List([Block(32, rngs) for _ in range(2)])
        self.down = nnx.Conv(32, 64, (2, 2), strides=(2, 2), rngs=rngs)
        self.late = nnx.List([Block(64, rngs) for _ in range(2)])
        self.head = nnx.Linear(64, SPECIES, rngs=rngs)

    def __call__(self, x):
        x = self.stem(x)
        for block in self.early:
            x = block(x)
        x = self.down(x)
        for block in self.late:
            x = block(x)
        return self.head(x.mean(axis=(1, 2)))


@nnx.jit
def train_step(model: OrchidNet, optimizer: nnx.Optimizer, images, labels):
    def loss_fn(model):
        logits = model(images.astype(jnp.float32) / 127.5 - 1.0)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


def main(logdir: str) -> None:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="orchids-"))
    try:
        write_shards(folder)
        dataset = (
            grain.MapDataset.source(OrchidSource(str(folder)))
            .seed(3)
            .shuffle()
            .repeat()
            .random_map(RandomCrop())
            .batch(BATCH, drop_remainder=True)
            .to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=8))
            .mp_prefetch(grain.MultiprocessingOptions(num_workers=1, per_worker_buffer_size=4))
        )
        batches = iter(dataset)
        model = OrchidNet(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adamw(3e-4, weight_decay=1e-2), wrt=nnx.Param)
        for _ in range(WARMUP):
            batch = next(batches)
            loss = train_step(model, optimizer, batch["image"], batch["label"])
        loss.block_until_ready()
        losses = []
        with jax.profiler.trace(logdir):
            for step in range(STEPS):
                with jax.profiler.StepTraceAnnotation("train", step_num=step):
                    batch = next(batches)
                    losses.append(train_step(model, optimizer, batch["image"], batch["label"]))
            jax.block_until_ready(losses)
        print(f"loss {float(losses[0]):.3f} -> {float(losses[-1]):.3f}")
        if hasattr(batches, "close"):
            batches.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(flags.FLAGS(sys.argv)[1])
