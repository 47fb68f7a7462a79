"""Bird call classifier: waveforms -> reverberation -> log spectrogram -> small CNN (Flax linen)."""
import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from flax.training import train_state
from scipy import signal
from torch.utils.data import DataLoader, Dataset

RATE = 16000
N_FFT = 512
HOP = 256
CLASSES = 12
BATCH = 16
WARMUP = 6
STEPS = 12


def synth_calls(n, rng):
    t = np.arange(RATE) / RATE
    clips = np.empty((n, RATE), np.float32)
    labels = rng.integers(0, CLASSES, n)
    for i, c in enumerate(labels):
        f0 = 800 + 400 * c
        sweep = f0 + 300 * np.sin(2 * np.pi * (3 + c % 4) * t)
        clips[i] = np.sin(2 * np.pi * np.cumsum(sweep) / RATE) * np.exp(-2 * t)
        clips[i] += 0.05 * rng.standard_normal(RATE)
    return clips, labels.astype(np.int32)


def synth_rooms(n, rng, taps=3000):
    decay = np.exp(-np.linspace(0, 6, taps))
    rooms = rng.standard_normal((n, taps)) * decay
    rooms[:, 0] = 4.0
    return (rooms / np.abs(rooms).sum(1, keepdims=True)).astype(np.float32)


def reverb_direct(wave, room):
    return np.convolve(wave, room)[: wave.shape[0]]


def reverb_spectral(wave, room):
    return signal.oaconvolve(wave, room)[: wave.shape[0]]


class Calls(Dataset):
    def __init__(self, clips, labels, rooms, reverb, seed=0):
        self.clips, self.labels, self.rooms = clips, labels, rooms
        self.reverb = reverb
        self.rng = np.random.default_rng(seed)
        self.window = np.hanning(N_FFT).astype(np.float32)

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, i):
        wave = np.roll(self.clips[i], self.rng.integers(0, RATE))
        wave = self.reverb(wave, self.rooms[self.rng.integers(len(self.rooms))])
        frames = np.lib.stride_tricks.sliding_window_view(wave, N_FFT)[::HOP]
        spec = np.abs(np.fft.rfft(frames * self.window, axis=-1))[:, :128]
        return np.log1p(spec * 20).astype(np.float32), self.labels[i]


def collate(items):
    xs, ys = zip(*items)
    return np.stack(xs)[..., None], np.asarray(ys)


class CallNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (16, 32, 48):
            x = nn.Conv(width, (3, 3), strides=(2, 2))(x)
            x = nn.relu(nn.GroupNorm(num_groups=8)(x))
        x = x.mean((1, 2))
        return nn.Dense(CLASSES)(x)


@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


def endless(loader):
    while True:
        yield from loader


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()

    torch.manual_seed(7)
    rng = np.random.default_rng(7)
    clips, labels = synth_calls(192, rng)
    reverb = reverb_direct if args.fault else reverb_spectral
    data = Calls(clips, labels, synth_rooms(24, rng), reverb)
    batches = endless(DataLoader(data, BATCH, shuffle=True, drop_last=True, collate_fn=collate))

    model = CallNet()
    x0, _ = next(batches)
    params = model.init(jax.random.key(0), x0)["params"]
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(2e-3))

    for _ in range(WARMUP):
        state, loss = train_step(state, *next(batches))
    loss.block_until_ready()

    jax.profiler.start_trace(args.logdir)
    for step in range(STEPS):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            x, y = next(batches)
            state, loss = train_step(state, jnp.asarray(x), jnp.asarray(y))
    loss.block_until_ready()
    jax.profiler.stop_trace()
    print("last loss", float(loss))


if __name__ == "__main__":
    main()
