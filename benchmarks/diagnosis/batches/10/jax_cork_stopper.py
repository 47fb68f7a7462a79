"""Grades natural cork stoppers from two photographs (side and end) with a small flax network."""

import argparse
import shutil
import tempfile

import flax.linen as nn
import grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax.training import train_state

SIDE = 64
GRADES = 7
BATCH = 24
WARMUP, RECORDED = 8, 10


def make_corks(count, seed=4):
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, GRADES, count)
    photos = rng.normal(170, 12, (count, SIDE, SIDE, 2))
    for i, grade in enumerate(grades):
        for _ in range(3 * grade):
            y, x = rng.integers(0, SIDE - 5, 2)
            photos[i, y : y + 4, x : x + 2] -= 90
    return photos.clip(0, 255).astype(np.uint8), grades.astype(np.int32)


class Corks:
    def __init__(self, count):
        self.photos, self.grades = make_corks(count)

    def __len__(self):
        return len(self.grades)

    def __getitem__(self, index):
        return {"photo": self.photos[index], "grade": self.grades[index]}


def turn(item, rng):
    photo = item["photo"]
    if rng.random() < 0.5:
        photo = photo[::-1]
    if rng.random() < 0.5:
        photo = photo[:, ::-1]
    return {"photo": photo, "grade": item["grade"]}


def make_loader():
    return iter(
        grain.MapDataset.source(Corks(640))
        .seed(0)
        .shuffle()
        .repeat()
        .random_map(turn)
        .batch(BATCH, drop_remainder=True)
        .to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=4))
    )


class ConvBlock(nn.Module):
    features: int
    stride: int = 1

    @nn.compact
    def __call__(self, x):
        y = nn.Conv(self.features, (3, 3), self.stride, use_bias=False)(x)
        y = nn.relu(nn.GroupNorm(8)(y))
        y = nn.GroupNorm(8)(nn.Conv(self.features, (3, 3), use_bias=False)(y))
        if x.shape != y.shape:
            x = nn.Conv(self.features, (1, 1), self.stride, use_bias=False)(x)
        return nn.relu(x + y)


class CorkNet(nn.Module):
    @nn.compact
    def __call__(self, photo):
        x = photo.astype(jnp.float32) / 127.5 - 1
        x = nn.relu(nn.Conv(32, (5, 5), 2)(x))
        for features, stride in ((48, 2), (64, 2)):
            x = ConvBlock(features, stride)(x)
        return nn.Dense(GRADES)(x.mean(axis=(1, 2)))


@jax.jit
def train_step(state, batch):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, batch["photo"])
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["grade"]).mean()
        return loss, jnp.mean(logits.argmax(-1) == batch["grade"])

    (loss, accuracy), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), {"loss": loss, "accuracy": accuracy}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    args = parser.parse_args()

    net = CorkNet()
    params = jax.jit(net.init)(jax.random.key(0), jnp.zeros((1, SIDE, SIDE, 2), jnp.uint8))["params"]
    optimizer = optax.adamw(optax.warmup_cosine_decay_schedule(0, 2e-3, 5, 200))
    state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optimizer)
    loader = make_loader()

    history = []
    for _ in range(WARMUP):
        state, metrics = train_step(state, next(loader))
    jax.block_until_ready(state)

    with jax.profiler.trace(args.logdir):
        for _ in range(RECORDED):
            state, metrics = train_step(state, next(loader))
            history.append(metrics)
        jax.block_until_ready(state)

    for name, values in jax.tree.map(lambda *v: float(np.mean(v)), *history).items():
        print(f"{name} {values:.4f}")

    folder = tempfile.mkdtemp(prefix="cork_")
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(f"{folder}/final", state.params)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
