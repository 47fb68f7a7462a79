"""Species of whale calls from hydrophone clips: grain pipeline, flax.nnx network."""

import argparse

import grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

RATE, SECONDS, FRAME, HOP, BINS, SPECIES, BATCH = 4000, 2, 256, 64, 96, 12, 24
FRAMES = (RATE * SECONDS - FRAME) // HOP + 1


class HydrophoneClips:
    """Int16 clips with a margin for random cropping."""

    def __init__(self, rng, count=1200):
        length = RATE * SECONDS + 1000
        t = np.arange(length, dtype=np.float32) / RATE
        self.species = rng.integers(0, SPECIES, count)
        sweep = 80 + 90 * self.species[:, None] * (1 + 0.3 * np.sin(2 * np.pi * 0.7 * t))
        phase = np.cumsum(sweep, 1) / RATE
        clips = 6000 * np.sin(2 * np.pi * phase) + rng.standard_normal((count, length), np.float32) * 2500
        self.clips = np.clip(clips, -32768, 32767).astype(np.int16)

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, index):
        return {"clip": self.clips[index], "species": np.int32(self.species[index])}


class LogSpectrogram(grain.transforms.RandomMap):
    window = np.hanning(FRAME).astype(np.float32)

    def random_map(self, element, rng):
        start = rng.integers(0, len(element["clip"]) - RATE * SECONDS + 1)
        clip = element["clip"][start : start + RATE * SECONDS].astype(np.float32) / 32768
        clip *= rng.uniform(0.6, 1.4)
        frames = np.lib.stride_tricks.sliding_window_view(clip, FRAME)[::HOP]
        power = np.abs(np.fft.rfft(frames * self.window)[:, :BINS]).astype(np.float32)
        return {"spectrogram": np.log1p(20 * power), "species": element["species"]}


class Stage(nnx.Module):
    def __init__(self, inputs, outputs, rngs):
        self.reduce = nnx.Conv(inputs, outputs, (3, 3), strides=2, rngs=rngs)
        self.norm1 = nnx.GroupNorm(outputs, num_groups=8, rngs=rngs)
        self.conv = nnx.Conv(outputs, outputs, (3, 3), rngs=rngs)
        self.norm2 = nnx.GroupNorm(outputs, num_groups=8, rngs=rngs)

    def __call__(self, x):
        x = nnx.silu(self.norm1(self.reduce(x)))
        return x + nnx.silu(self.norm2(self.conv(x)))


class CallNet(nnx.Module):
    def __init__(self, rngs):
        self.stages = nnx.List([Stage(a, b, rngs) for a, b in ((1, 16), (16, 32), (32, 64), (64, 96))])
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.attention = nnx.Linear(96, 1, rngs=rngs)
        self.head = nnx.Linear(96, SPECIES, rngs=rngs)

    def __call__(self, x):
        x = x[..., None]
        for stage in self.stages:
            x = stage(x)
        x = x.mean(2)
        x = jnp.sum(x * jax.nn.softmax(self.attention(x), 1), 1)
        return self.head(self.dropout(x))


@nnx.jit
def train_step(model, optimizer, metrics, batch):
    def loss_fn(model):
        logits = model(batch["spectrogram"])
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["species"])
        return losses.mean(), logits

    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model)
    optimizer.update(model, grads)
    metrics.update(loss=loss, logits=logits, labels=batch["species"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    data = (
        grain.MapDataset.source(HydrophoneClips(np.random.default_rng(10)))
        .seed(10)
        .shuffle()
        .repeat()
        .random_map(LogSpectrogram())
        .to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=3 * BATCH))
        .batch(BATCH, drop_remainder=True)
    )
    model = CallNet(nnx.Rngs(10))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), accuracy=nnx.metrics.Accuracy())
    batches = iter(data)

    for _ in range(10):
        train_step(model, optimizer, metrics, next(batches))
    print({name: round(float(value), 4) for name, value in metrics.compute().items()})
    metrics.reset()

    jax.profiler.start_trace(args.logdir)
    for _ in range(12):
        train_step(model, optimizer, metrics, next(batches))
    summary = {name: round(float(value), 4) for name, value in metrics.compute().items()}
    jax.profiler.stop_trace()
    print(summary)


if __name__ == "__main__":
    main()
