"""World model of a snooker table: a recurrent latent model predicts the next frames of the overhead camera."""
import sys
from functools import partial

import flax.linen as nn
import grain.python as grain
import jax
import jax.numpy as jnp
import numpy as np
import optax

LOGDIR = sys.argv[1]

FRAMES, HEIGHT, BREADTH = 12, 24, 48
LATENT = 128
BATCH = 8
SHOTS = 160
WARMUP, RECORD = 6, 10


class Shots:
    """Random-access source of short clips: balls that roll, slow down and bounce off the cushions."""

    def __init__(self, rng):
        yy, xx = np.mgrid[:HEIGHT, :BREADTH].astype(np.float32)
        pos = rng.uniform(4, 20, (SHOTS, 4, 2))
        vel = rng.normal(0, 1.6, (SHOTS, 4, 2))
        self.clips = np.zeros((SHOTS, FRAMES, HEIGHT, BREADTH, 1), np.uint8)
        limit = np.array([HEIGHT - 1, BREADTH - 1])
        for f in range(FRAMES):
            blob = np.exp(-((yy - pos[..., :1, None]) ** 2 + (xx - pos[..., 1:, None]) ** 2) / 3)
            self.clips[:, f, ..., 0] = np.clip(blob.sum(1) * 255, 0, 255)
            pos, vel = pos + vel, vel * 0.97
            vel = np.where((pos < 0) | (pos > limit), -vel, vel)
            pos = np.clip(pos, 0, limit)

    def __len__(self):
        return SHOTS

    def __getitem__(self, index):
        return self.clips[index]


def flip(clip, rng):
    return clip[:, :, ::-1] if rng.uniform() < 0.5 else clip


class World(nn.Module):
    @nn.compact
    def __call__(self, clips):
        b, t = clips.shape[:2]
        x = clips.reshape((b * t, HEIGHT, BREADTH, 1))
        for width in (24, 32, 48):
            x = nn.gelu(nn.Conv(width, (3, 3), strides=(2, 2))(x))
        x = nn.Dense(LATENT)(x.reshape((b, t, -1)))
        cell = nn.RNN(nn.GRUCell(LATENT))
        states = cell(x)
        y = nn.gelu(nn.Dense(3 * 6 * 48)(states)).reshape((b * t, 3, 6, 48))
        for width in (32, 24):
            y = nn.gelu(nn.ConvTranspose(width, (4, 4), strides=(2, 2))(y))
        y = nn.ConvTranspose(1, (4, 4), strides=(2, 2))(y)
        return y.reshape((b, t, HEIGHT, BREADTH, 1))


model = World()
tx = optax.chain(optax.clip_by_global_norm(10.0), optax.adamw(6e-4))


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, opt_state, clips):
    clips = clips.astype(jnp.float32) / 255.0

    def loss_fn(params):
        logits = model.apply(params, clips[:, :-1])
        return optax.sigmoid_binary_cross_entropy(logits, clips[:, 1:]).sum((2, 3, 4)).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, {"loss": loss, "grad_norm": optax.global_norm(grads)}


def main():
    data = (
        grain.MapDataset.source(Shots(np.random.default_rng(147)))
        .seed(147)
        .shuffle()
        .repeat()
        .random_map(flip)
        .batch(BATCH)
        .to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=16))
    )
    batches = iter(data)
    params = model.init(jax.random.key(147), jnp.zeros((1, FRAMES - 1, HEIGHT, BREADTH, 1)))
    opt_state = tx.init(params)
    history = []
    for step in range(WARMUP + RECORD):
        if step == WARMUP:
            jax.block_until_ready(params)
            jax.profiler.start_trace(LOGDIR)
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, opt_state, metrics = train_step(params, opt_state, next(batches))
        history.append(metrics)
        if step % 5 == 4:
            print(step, {k: round(float(v), 3) for k, v in metrics.items()})
    jax.block_until_ready(params)
    jax.profiler.stop_trace()
    print("mean loss", np.mean([float(m["loss"]) for m in history]))


if __name__ == "__main__":
    main()
