"""Beta-VAE over windows of multichannel machine-sensor signals, KL weight annealed."""
import argparse
import math
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

WINDOW, CHANNELS, LATENT, BATCH = 128, 8, 12, 96
WARMUP, STEPS = 7, 11
STAGE, STAGES = 5, 60


def sensor_windows(n=768, seed=9):
    rng = np.random.default_rng(seed)
    t = np.arange(WINDOW) / WINDOW
    freq = rng.uniform(1, 8, (n, 1, CHANNELS))
    phase = rng.uniform(0, 2 * math.pi, (n, 1, CHANNELS))
    drift = rng.normal(0, 0.5, (n, 1, CHANNELS)) * t[None, :, None]
    sig = np.sin(2 * math.pi * freq * t[None, :, None] + phase) + drift
    return (sig + rng.normal(0, 0.1, sig.shape)).astype(np.float32)


def window_batches(data, seed=0):
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(data))
        for i in range(0, len(order) - BATCH + 1, BATCH):
            yield data[order[i:i + BATCH]]


class VAE(tf.keras.Model):
    def __init__(self):
        super().__init__()
        L = tf.keras.layers
        self.enc = tf.keras.Sequential([
            L.Conv1D(48, 7, 2, "same", activation="gelu"),
            L.Conv1D(64, 5, 2, "same", activation="gelu"),
            L.Flatten(), L.Dense(2 * LATENT),
        ])
        self.dec = tf.keras.Sequential([
            L.Dense(WINDOW // 4 * 64, activation="gelu"), L.Reshape((WINDOW // 4, 64)),
            L.Conv1DTranspose(48, 5, 2, "same", activation="gelu"),
            L.Conv1DTranspose(CHANNELS, 7, 2, "same"),
        ])

    def call(self, x, training=False):
        mean, logvar = tf.split(self.enc(x, training=training), 2, axis=-1)
        z = mean + tf.random.normal(tf.shape(mean)) * tf.exp(0.5 * logvar)
        return self.dec(z, training=training), mean, logvar


def beta_at(step):
    part = min(1.0, step // STAGE / STAGES)
    return 0.5 * (1 - math.cos(math.pi * part))


class Trainer:
    def __init__(self, as_weight):
        self.model = VAE()
        self.opt = tf.keras.optimizers.AdamW(1e-3)
        self.model(tf.zeros((1, WINDOW, CHANNELS)))
        self.opt.build(self.model.trainable_variables)
        self.as_weight = as_weight
        self.step = 0

    @tf.function
    def _gradients(self, x, beta):
        with tf.GradientTape() as tape:
            rec, mean, logvar = self.model(x, training=True)
            err = tf.reduce_mean(tf.reduce_sum((rec - x) ** 2, axis=(1, 2)))
            kl = -0.5 * tf.reduce_mean(
                tf.reduce_sum(1 + logvar - mean**2 - tf.exp(logvar), axis=1)
            )
            loss = err + beta * kl
        return tape.gradient(loss, self.model.trainable_variables), loss, kl

    @tf.function
    def _apply(self, grads):
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))

    def update(self, x):
        beta = self.as_weight(beta_at(self.step))
        self.step += 1
        grads, loss, kl = self._gradients(tf.constant(x), beta)
        self._apply(grads)
        return loss, kl


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()
    tf.random.set_seed(5)
    batches = window_batches(sensor_windows())
    trainer = Trainer(float if args.fault else tf.constant)
    for _ in range(WARMUP):
        trainer.update(next(batches))
    tf.profiler.experimental.start(args.logdir)
    for _ in range(STEPS):
        loss, kl = trainer.update(next(batches))
    tf.profiler.experimental.stop()
    print(f"last loss {loss.numpy():.3f}, kl {kl.numpy():.3f}")


if __name__ == "__main__":
    main()
