"""Removes the crackle from phonograph cylinders, one cylinder a step (each was cut at its own speed).

    python tf_wax_cylinders.py LOGDIR
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import argparse

import numpy as np
import tensorflow as tf

CHUNKS = 8
SAMPLES = 4096
WIDTH = 40
LAYERS = 4


class Archive:
    """Cylinders with the catalogue's card of each."""

    def __init__(self, count=60):
        self.rng = np.random.default_rng(44)
        self.cards = [
            {"shelfmark": f"EC-{1890 + n % 24}-{n:04d}", "rpm": round(float(self.rng.uniform(120, 185)), 2)}
            for n in range(count)
        ]
        time = np.arange(SAMPLES, dtype=np.float32) / 8000
        pitch = self.rng.uniform(80, 900, (64, 1)).astype(np.float32)
        self.music = np.sin(2 * np.pi * pitch * time) * np.exp(-3 * time)

    def __iter__(self):
        for card in self.cards:
            clean = self.music[self.rng.integers(0, len(self.music), CHUNKS)]
            crackle = (self.rng.random(clean.shape, dtype=np.float32) < 0.01) * self.rng.normal(0, 0.7, clean.shape)
            yield (clean + crackle).astype(np.float32)[..., None], clean[..., None], card


class Restorer(tf.Module):
    def __init__(self):
        super().__init__()
        init = tf.keras.initializers.HeNormal(seed=3)
        self.first = tf.Variable(init((9, 2, WIDTH)))
        self.kernels = [tf.Variable(init((9, WIDTH, WIDTH))) for _ in range(LAYERS)]
        self.biases = [tf.Variable(tf.zeros(WIDTH)) for _ in range(LAYERS)]
        self.last = tf.Variable(init((9, WIDTH, 1)))

    def __call__(self, noisy, rpm):
        speed = tf.ones_like(noisy) * (rpm / 160.0)
        x = tf.nn.conv1d(tf.concat([noisy, speed], -1), self.first, 1, "SAME")
        for kernel, bias in zip(self.kernels, self.biases):
            y = tf.nn.conv1d(tf.nn.elu(x + bias), kernel, 1, "SAME")
            x = x + y
        return noisy - tf.nn.conv1d(tf.nn.elu(x), self.last, 1, "SAME")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    tf.random.set_seed(9)

    model = Restorer()
    variables = model.trainable_variables
    velocity = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]

    def update(noisy, clean, rpm):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(model(noisy, rpm) - clean))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 1.0)
        for variable, speed, gradient in zip(variables, velocity, gradients):
            speed.assign(0.9 * speed + gradient)
            variable.assign_sub(0.01 * speed)
        return loss

    @tf.function
    def train_step(noisy, clean, rpm):
        return update(noisy, clean, rpm)

    @tf.function
    def train_on_card(noisy, clean, card):
        return update(noisy, clean, card["rpm"])

    def train(noisy, clean, card):
        noisy, clean = tf.constant(noisy), tf.constant(clean)
        if args.fault:
            return train_on_card(noisy, clean, card)
        return train_step(noisy, clean, tf.constant(card["rpm"], tf.float32))

    cylinders = iter(Archive())
    for _ in range(6):
        loss = train(*next(cylinders))
    tf.profiler.experimental.start(args.logdir)
    for step in range(10):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train(*next(cylinders))
    loss = float(loss)
    tf.profiler.experimental.stop()
    print(f"loss {loss:.4f}")


if __name__ == "__main__":
    main()
