"""Trains a diffusion model (Keras on JAX) that draws the next rain radar picture from the last three.

    python jax_rain_radar.py LOGDIR [--fault]
"""

import os

os.environ["KERAS_BACKEND"] = "jax"

import argparse

import jax
import jax.numpy as jnp
import keras
import numpy as np
from keras import layers, ops

SIDE, PAST = 48, 3
LEVELS = 400
BATCH = 16
WARMUP, RECORDED = 7, 10


def radar(number=400):
    rng = np.random.default_rng(37)
    y, x = np.mgrid[:SIDE, :SIDE]
    centre = rng.uniform(8, SIDE - 8, (number, 2))
    wind = rng.uniform(-2, 2, (number, 2))
    frames = []
    for minute in range(PAST + 1):
        cy, cx = (centre + minute * wind).T[:, :, None, None]
        frames.append(np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / 60))
    frames = np.stack(frames, axis=-1) + 0.05 * rng.standard_normal((number, SIDE, SIDE, PAST + 1))
    return (2 * frames - 1).astype(np.float32)


def denoiser():
    noisy = keras.Input((SIDE, SIDE, 1))
    past = keras.Input((SIDE, SIDE, PAST))
    level = keras.Input((1,))
    x = layers.Concatenate()([noisy, past])
    skip = layers.Conv2D(24, 3, padding="same", activation="silu")(x)
    x = layers.Conv2D(48, 3, strides=2, padding="same", activation="silu")(skip)
    x = x + layers.Reshape((1, 1, 48))(layers.Dense(48)(layers.Dense(64, activation="silu")(level)))
    for _ in range(2):
        x = x + layers.Conv2D(48, 3, padding="same", activation="silu")(layers.GroupNormalization(8)(x))
    x = layers.UpSampling2D(2)(layers.Conv2D(16, 1)(x))
    x = layers.Conv2D(16, 3, padding="same", activation="silu")(layers.Concatenate()([x, skip]))
    return keras.Model([noisy, past, level], layers.Conv2D(1, 3, padding="same")(x))


class Nowcaster(keras.Model):
    def __init__(self, chain):
        super().__init__()
        self.net = denoiser()
        self.chain = chain
        self.betas = np.linspace(1e-4, 0.025, LEVELS).astype(np.float32)
        self.kept = np.cumprod(1 - self.betas)
        self.seed = keras.random.SeedGenerator(37)

    def blend(self, field, level):
        kept = ops.take(self.kept, level)[:, None, None, None]
        noise = keras.random.normal(field.shape, seed=self.seed)
        return ops.sqrt(kept) * field + ops.sqrt(1 - kept) * noise, noise

    def walk(self, field, level):
        """The forward process q(x_t | x_0), one level after the other."""

        def further(x, item):
            index, beta, key = item
            moved = jnp.sqrt(1 - beta) * x + jnp.sqrt(beta) * jax.random.normal(key, x.shape)
            return jnp.where((index <= level)[:, None, None, None], moved, x), None

        keys = jax.random.split(jax.random.wrap_key_data(self.seed.next()), LEVELS)
        noisy, _ = jax.lax.scan(further, field, (jnp.arange(LEVELS), jnp.asarray(self.betas), keys))
        kept = jnp.take(self.kept, level)[:, None, None, None]
        return noisy, (noisy - jnp.sqrt(kept) * field) / jnp.sqrt(1 - kept)

    def call(self, frames):
        past, field = frames[..., :PAST], frames[..., PAST:]
        level = keras.random.randint((frames.shape[0],), 0, LEVELS, seed=self.seed)
        noisy, noise = self.walk(field, level) if self.chain else self.blend(field, level)
        guess = self.net([noisy, past, ops.cast(level, "float32")[:, None] / LEVELS])
        return noise, guess

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        noise, guess = y_pred
        return ops.mean(ops.square(noise - guess))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(37)
    frames = radar()
    model = Nowcaster(chain=args.fault)
    model.compile(optimizer=keras.optimizers.AdamW(1e-3))
    rng = np.random.default_rng(38)

    def batch():
        return frames[rng.integers(0, len(frames), BATCH)]

    for _ in range(WARMUP):
        loss = model.train_on_batch(batch())
    with jax.profiler.trace(args.logdir):
        for step in range(RECORDED):
            with jax.profiler.StepTraceAnnotation("nowcast", step_num=step):
                loss = model.train_on_batch(batch())
    print("loss", float(np.mean(loss)))


if __name__ == "__main__":
    main()
