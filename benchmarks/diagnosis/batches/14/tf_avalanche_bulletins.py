"""Forecasts the avalanche danger of three height bands from the last bulletin's text and 72 hours of station weather.

    python tf_avalanche_bulletins.py LOGDIR
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from tensorflow import keras

WORDS, TOKENS, WIDTH = 6000, 80, 128
HOURS, SENSORS = 72, 12
BANDS, LEVELS = 3, 5
BATCH = 48
WARMUP, RECORDED = 8, 12


def archive(days=2400):
    rng = np.random.default_rng(3)
    text = rng.zipf(1.3, (days, TOKENS)).clip(1, WORDS - 1).astype(np.int32)
    weather = np.cumsum(rng.normal(0, 0.2, (days, HOURS, SENSORS)), axis=1).astype(np.float32)
    snow = weather[:, -24:, 0].mean(axis=1)
    level = np.digitize(snow[:, None] + np.linspace(-0.5, 0.5, BANDS), [-2.0, -0.7, 0.7, 2.0])
    return text, weather, level.astype(np.int32)


class Block(keras.layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.attend = keras.layers.MultiHeadAttention(4, width // 4)
        self.first = keras.layers.LayerNormalization()
        self.second = keras.layers.LayerNormalization()
        self.up = keras.layers.Dense(2 * width, activation="gelu")
        self.down = keras.layers.Dense(width)

    def call(self, x):
        y = self.first(x)
        x = x + self.attend(y, y)
        return x + self.down(self.up(self.second(x)))


class Forecaster(keras.Model):
    def __init__(self):
        super().__init__()
        self.words = keras.layers.Embedding(WORDS, WIDTH)
        self.places = keras.layers.Embedding(TOKENS, WIDTH)
        self.blocks = [Block(WIDTH) for _ in range(2)]
        self.weather = keras.layers.GRU(96)
        self.mix = keras.layers.Dense(128, activation="gelu")
        self.out = keras.layers.Dense(BANDS * LEVELS)

    def call(self, text, weather):
        x = self.words(text) + self.places(tf.range(TOKENS))
        for block in self.blocks:
            x = block(x)
        x = tf.concat([tf.reduce_mean(x, axis=1), self.weather(weather)], axis=-1)
        return tf.reshape(self.out(self.mix(x)), (-1, BANDS, LEVELS))


def main(logdir):
    keras.utils.set_random_seed(3)
    data = (
        tf.data.Dataset.from_tensor_slices(archive())
        .shuffle(2400)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    model = Forecaster()
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(1e-3, 2000), global_clipnorm=1.0)
    crossentropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    mean_loss = keras.metrics.Mean()
    accuracy = keras.metrics.SparseCategoricalAccuracy()
    writer = tf.summary.create_file_writer(os.path.join(logdir, "scalars"))

    @tf.function
    def train_step(text, weather, level):
        with tf.GradientTape() as tape:
            logits = model(text, weather)
            loss = crossentropy(level, logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        mean_loss.update_state(loss)
        accuracy.update_state(level, logits)

    batches = iter(data)
    text, weather, level = next(batches)
    model(text, weather)
    optimizer.build(model.trainable_variables)

    for step in range(WARMUP + RECORDED):
        if step == WARMUP:
            tf.profiler.experimental.start(logdir)
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next(batches))
        if step % 10 == 9:
            with writer.as_default(step=step):
                tf.summary.scalar("loss", mean_loss.result())
                tf.summary.scalar("accuracy", accuracy.result())
            mean_loss.reset_state()
            accuracy.reset_state()
    tf.profiler.experimental.stop()
    writer.close()
    print("trained", int(optimizer.iterations.numpy()), "steps")


if __name__ == "__main__":
    main(sys.argv[1])
