"""Chest X-rays through grain, flax.nnx for the model. Pictures lie on slow storage in one archive."""

import sys
import tempfile
import threading
import time
from pathlib import Path

import grain
import jax
import numpy as np
import optax
from flax import nnx

STEPS = 12
BATCH = 24
SIDE = 48
SEEK_S = 0.006  # what the file server takes to answer


class Archive:
    """Random access to pictures of one size in one file."""

    def __init__(self, path, count, one_handle):
        self.path, self.count = str(path), count
        self.one_handle = one_handle
        self.lock = threading.Lock()
        self.shared = open(self.path, "rb")
        self.local = threading.local()

    def __len__(self):
        return self.count

    def read(self, handle, index):
        handle.seek(index * SIDE * SIDE)
        time.sleep(SEEK_S)
        return handle.read(SIDE * SIDE)

    def __getitem__(self, index):
        if self.one_handle:
            with self.lock:  # seek and read belong together
                raw = self.read(self.shared, index)
        else:
            if not hasattr(self.local, "handle"):
                self.local.handle = open(self.path, "rb")
            raw = self.read(self.local.handle, index)
        return {"image": np.frombuffer(raw, np.uint8).reshape(SIDE, SIDE, 1), "finding": np.int32(index % 3)}


def normalize(example):
    image = example["image"].astype(np.float32)
    return {"image": (image - 127.0) / 64.0, "finding": example["finding"]}


class ConvNet(nnx.Module):
    def __init__(self, rngs):
        self.conv1 = nnx.Conv(1, 32, (5, 5), strides=2, rngs=rngs)
        self.bn1 = nnx.BatchNorm(32, rngs=rngs)
        self.conv2 = nnx.Conv(32, 48, (3, 3), rngs=rngs)
        self.conv3 = nnx.Conv(48, 64, (3, 3), strides=2, rngs=rngs)
        self.head = nnx.Linear(64, 3, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.bn1(self.conv1(x)))
        x = nnx.relu(self.conv2(x))
        x = nnx.relu(self.conv3(x))
        return self.head(x.mean(axis=(1, 2)))


@nnx.jit
def train_step(model, optimizer, batch):
    def loss_fn(model):
        logits = model(batch["image"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["finding"]).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


def main(logdir, faulty):
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "xrays.bin"
        path.write_bytes(np.random.default_rng(0).integers(0, 255, 600 * SIDE * SIDE, dtype=np.uint8).tobytes())
        source = Archive(path, 600, one_handle=faulty)
        dataset = (
            grain.MapDataset.source(source)
            .shuffle(seed=10)
            .repeat()
            .map(normalize)
            .to_iter_dataset(grain.ReadOptions(num_threads=8, prefetch_buffer_size=128))
            .batch(BATCH, drop_remainder=True)
        )
        iterator = iter(dataset)
        model = ConvNet(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)

        def train(first, count):
            for number in range(first, first + count):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    batch = next(iterator)
                    loss = train_step(model, optimizer, batch)
            jax.block_until_ready(loss)

        train(0, 6)
        with jax.profiler.trace(logdir):
            train(6, STEPS)
        if hasattr(iterator, "close"):
            iterator.close()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
