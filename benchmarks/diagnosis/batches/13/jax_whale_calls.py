"""Tells the calls of whales apart (blue, fin, humpback, minke, none) in hydrophone recordings; flax nnx and grain."""
import argparse
import functools

import grain.python as grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

RATE, SECONDS, CROP = 1000, 8, 4096
KINDS, BATCH = 5, 32
WARMUP, CAPTURED = 8, 10


class Recordings(grain.RandomAccessDataSource):
    def __init__(self, count=1200, seed=17):
        rng = np.random.default_rng(seed)
        self.kind = rng.integers(0, KINDS, count).astype(np.int32)
        t = np.arange(RATE * SECONDS, dtype=np.float32) / RATE
        pitch = np.array([18.0, 22.0, 180.0, 90.0, 0.0], np.float32)[self.kind, None]
        sweep = np.array([-0.3, -1.0, 15.0, 4.0, 0.0], np.float32)[self.kind, None]
        wave = np.sin(2 * np.pi * (pitch * t + 0.5 * sweep * t**2))
        noise = rng.standard_normal(wave.shape, dtype=np.float32)
        self.waves = (3000 * (wave + 0.5 * noise)).astype(np.int16)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, k):
        return self.waves[k], self.kind[k]


class Crop(grain.RandomMapTransform):
    def random_map(self, element, rng):
        wave, kind = element
        start = rng.integers(0, len(wave) - CROP)
        piece = wave[start : start + CROP].astype(np.float32) / 4000.0
        return {"wave": piece[:, None], "kind": kind}


def batches(seed=0):
    data = grain.MapDataset.source(Recordings()).seed(seed).shuffle().repeat().random_map(Crop())
    data = data.batch(BATCH, drop_remainder=True)
    return iter(data.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=6)))


class Stage(nnx.Module):
    def __init__(self, a, b, stride, rngs):
        self.conv = nnx.Conv(a, b, (9,), strides=(stride,), use_bias=False, rngs=rngs)
        self.norm = nnx.LayerNorm(b, rngs=rngs)

    def __call__(self, x):
        return nnx.gelu(self.norm(self.conv(x)))


class Listener(nnx.Module):
    def __init__(self, rngs):
        widths = ((1, 32, 8), (32, 64, 4), (64, 96, 2), (96, 128, 2))
        self.stages = nnx.List([Stage(a, b, stride, rngs) for a, b, stride in widths])
        self.head = nnx.Linear(256, KINDS, rngs=rngs)

    def __call__(self, wave):
        x = wave
        for stage in self.stages:
            x = stage(x)
        return self.head(jnp.concatenate([x.mean(1), x.max(1)], axis=-1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()

    model = Listener(nnx.Rngs(6))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
    graphdef, state = nnx.split((model, optimizer))

    @functools.partial(jax.jit, donate_argnums=0)
    def train_step(state, batch):
        model, optimizer = nnx.merge(graphdef, state)

        def loss_fn(model):
            logits = model(batch["wave"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch["kind"]).mean()

        loss, grads = nnx.value_and_grad(loss_fn)(model)
        optimizer.update(model, grads)
        return nnx.state((model, optimizer)), loss

    source = batches()
    losses = []
    for _ in range(WARMUP):
        state, loss = train_step(state, next(source))
        losses.append(loss)
    jax.block_until_ready(state)
    with jax.profiler.trace(args.logdir):
        for n in range(CAPTURED):
            with jax.profiler.StepTraceAnnotation("train", step_num=n):
                state, loss = train_step(state, next(source))
                losses.append(loss)
        jax.block_until_ready(state)
    print("loss:", [round(float(loss), 3) for loss in losses[:: len(losses) - 1]])


if __name__ == "__main__":
    main()
