"""Rates rowing technique from the force at the gate and the oar angle of an eight (boat speed and stroke faults)."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LOGDIR = sys.argv[1]

STROKES = 3000
SAMPLES = 160
CHANNELS = 16
FAULTS = 5
BATCH = 48
WARMUP, RECORD = 8, 10


def simulate(rng):
    t = np.linspace(0, 1, SAMPLES, dtype=np.float32)
    catch = rng.uniform(0.05, 0.2, (STROKES, 1, 8)).astype(np.float32)
    peak = rng.uniform(0.6, 1.2, (STROKES, 1, 8)).astype(np.float32)
    force = peak * np.clip(np.sin(np.pi * (t[None, :, None] - catch) / 0.45), 0, None)
    angle = 55 * np.cos(2 * np.pi * (t[None, :, None] - catch)) / 60
    signal = np.concatenate([force, angle], -1) + rng.normal(0, 0.03, (STROKES, SAMPLES, CHANNELS))
    speed = force.sum((1, 2)) / 300 - catch.std((1, 2)) * 4
    flags = (rng.uniform(size=(STROKES, FAULTS)) < catch.mean((1, 2))[:, None] * 3).astype(np.float32)
    return signal.astype(np.float32), speed.astype(np.float32), flags


def jitter(signal, speed, flags):
    gain = tf.random.uniform((tf.shape(signal)[0], 1, CHANNELS), 0.95, 1.05)
    shift = tf.random.uniform((), -6, 7, tf.int32)
    return tf.roll(signal * gain, shift, axis=1), speed, flags


class Rower(keras.Model):
    def __init__(self):
        super().__init__()
        self.stem = [layers.Conv1D(96, 7, padding="same", activation="gelu"), layers.Conv1D(96, 5, 2, "same", activation="gelu")]
        self.attention = [layers.MultiHeadAttention(4, 24) for _ in range(2)]
        self.norms = [layers.LayerNormalization() for _ in range(4)]
        self.mixers = [keras.Sequential([layers.Dense(192, activation="gelu"), layers.Dense(96)]) for _ in range(2)]
        self.speed_head = layers.Dense(1)
        self.flag_head = layers.Dense(FAULTS)

    def call(self, x):
        for layer in self.stem:
            x = layer(x)
        for i in range(2):
            h = self.norms[2 * i](x)
            x = x + self.attention[i](h, h)
            x = x + self.mixers[i](self.norms[2 * i + 1](x))
        x = tf.reduce_mean(x, axis=1)
        return self.speed_head(x)[:, 0], self.flag_head(x)


def main():
    keras.utils.set_random_seed(8)
    data = simulate(np.random.default_rng(8))
    batches = iter(
        tf.data.Dataset.from_tensor_slices(data)
        .shuffle(STROKES)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(jitter, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )
    model = Rower()
    optimizer = keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(1e-3, 500), global_clipnorm=1.0)
    running = keras.metrics.Mean()
    writer = tf.summary.create_file_writer(os.path.join(LOGDIR, "train"))

    @tf.function
    def train_step(signal, speed, flags):
        with tf.GradientTape() as tape:
            predicted, logits = model(signal, training=True)
            loss = tf.reduce_mean(keras.losses.huber(speed[:, None], predicted[:, None]))
            loss += 0.5 * tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(flags, logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        running.update_state(loss)

    for step in range(WARMUP + RECORD):
        if step == WARMUP:
            tf.profiler.experimental.start(LOGDIR, options=tf.profiler.experimental.ProfilerOptions(host_tracer_level=2))
        train_step(*next(batches))
        if (step + 1) % 6 == 0:
            with writer.as_default(step=step):
                tf.summary.scalar("loss", running.result())
            running.reset_state()
    tf.profiler.experimental.stop()
    writer.close()
    print("steps", int(optimizer.iterations))


if __name__ == "__main__":
    main()
