"""Acoustic condition monitoring of pumps: flax nnx, grain and orbax."""
import argparse
import pathlib
import tempfile

import grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import nnx

RATE, SECONDS, RECORDINGS, STATES = 8000, 16, 96, 5
FFT, HOP, FRAMES, BATCH = 256, 64, 64, 32
WARMUP, RECORDED = 6, 10


def write_recordings(folder, rng):
    t = np.arange(RATE * SECONDS) / RATE
    files = []
    for i in range(RECORDINGS):
        state = i % STATES
        hum = np.sin(2 * np.pi * (49 + rng.normal(0, 0.3)) * t)
        vane = np.sin(2 * np.pi * (300 + 90 * state) * t) * (1 + 0.5 * np.sin(2 * np.pi * 7 * t))
        sound = hum + 0.4 * vane + rng.normal(0, 0.4, len(t))
        np.save(folder / f"pump{i:03d}.npy", sound.astype(np.float32))
        files.append((folder / f"pump{i:03d}.npy", state))
    return files


def spectrogram(sound):
    frames = np.lib.stride_tricks.sliding_window_view(sound, FFT)[::HOP]
    power = np.abs(np.fft.rfft(frames * np.hanning(FFT), axis=-1)) ** 2
    return np.log1p(power[:, 1:]).astype(np.float32)


class CropThenTransform(grain.transforms.RandomMap):
    def random_map(self, item, rng):
        path, state = item
        sound = np.load(path, mmap_mode="r")
        length = FFT + HOP * (FRAMES - 1)
        start = rng.integers(0, len(sound) - length)
        return {"x": spectrogram(sound[start : start + length]), "y": np.int32(state)}


class TransformThenCrop(grain.transforms.RandomMap):
    def random_map(self, item, rng):
        path, state = item
        image = spectrogram(np.load(path))
        start = rng.integers(0, len(image) - FRAMES)
        return {"x": image[start : start + FRAMES], "y": np.int32(state)}


class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.stem = nnx.Linear(FFT // 2, 192, rngs=rngs)
        self.norms = nnx.List([nnx.LayerNorm(192, rngs=rngs) for _ in range(2)])
        self.ups = nnx.List([nnx.Linear(192, 384, rngs=rngs) for _ in range(2)])
        self.downs = nnx.List([nnx.Linear(384, 192, rngs=rngs) for _ in range(2)])
        self.score = nnx.Linear(192, 1, rngs=rngs)
        self.head = nnx.Linear(192, STATES, rngs=rngs)

    def __call__(self, x):
        x = self.stem(x)
        for norm, up, down in zip(self.norms, self.ups, self.downs):
            x = x + down(nnx.gelu(up(norm(x))))
        attention = jax.nn.softmax(self.score(x), axis=1)
        return self.head((attention * x).sum(1))


@nnx.jit
def train_step(model, optimizer, batch):
    def loss_of(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(batch["x"]), batch["y"]).mean()

    loss, grads = nnx.value_and_grad(loss_of)(model)
    optimizer.update(model, grads)
    return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "sound").mkdir()
        files = write_recordings(folder / "sound", np.random.default_rng(0))
        transform = TransformThenCrop() if args.fault else CropThenTransform()
        data = grain.MapDataset.source(files).seed(7).shuffle().repeat().random_map(transform).batch(BATCH)
        batches = iter(data.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)))

        model = Classifier(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
        options = ocp.CheckpointManagerOptions(max_to_keep=2)
        if not args.fault:
            options.save_interval_steps = 500
        manager = ocp.CheckpointManager(folder / "checkpoints", options=options)

        def run(first, count):
            for step in range(first, first + count):
                loss = train_step(model, optimizer, next(batches))
                manager.save(step, args=ocp.args.StandardSave(nnx.state(model)))
            return float(loss)

        print("loss", run(1, WARMUP))
        jax.profiler.start_trace(args.logdir)
        loss = run(1 + WARMUP, RECORDED)
        jax.profiler.stop_trace()
        manager.wait_until_finished()
        manager.close()
        print("loss", loss)


if __name__ == "__main__":
    main()
