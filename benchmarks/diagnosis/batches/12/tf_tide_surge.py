"""Forecast of the storm surge at a tide gauge, twelve hours ahead, from four weeks of hourly levels and weather."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

HOURS = 30_000
PAST = 672
AHEAD = 12
CHANNELS = 5
BATCH = 96


def gauge_record(seed=4):
    rng = np.random.default_rng(seed)
    t = np.arange(HOURS)
    tide = 1.8 * np.sin(2 * np.pi * t / 12.42) + 0.6 * np.sin(2 * np.pi * t / 12.0) + 0.2 * np.sin(2 * np.pi * t / 25.82)
    wind = np.convolve(rng.normal(size=(HOURS, 2))[:, 0], np.ones(18) / 6, mode="same")
    cross = np.convolve(rng.normal(size=HOURS), np.ones(18) / 6, mode="same")
    pressure = np.cumsum(rng.normal(scale=0.05, size=HOURS))
    pressure -= np.convolve(pressure, np.ones(240) / 240, mode="same")
    surge = 0.25 * np.roll(wind, 5) - 0.4 * pressure + 0.05 * rng.normal(size=HOURS)
    return np.stack([tide + surge, tide, wind, cross, pressure], axis=1).astype(np.float32)


def split(levels, weather):
    past = tf.concat([levels, weather], axis=-1)[:, :PAST]
    return past, levels[:, PAST:, 0] - levels[:, PAST:, 1]


def sliding(levels, weather):
    span = PAST + AHEAD
    data = tf.data.Dataset.from_tensor_slices((levels, weather))
    data = data.window(span, shift=1, drop_remainder=True)
    data = data.flat_map(lambda gauge, sky: tf.data.Dataset.zip((gauge.batch(span), sky.batch(span))))
    return data.shuffle(512).repeat().batch(BATCH, drop_remainder=True).map(split).prefetch(2)


def indexed(levels, weather):
    span = PAST + AHEAD
    gauge, sky = tf.constant(levels), tf.constant(weather)
    offsets = tf.range(span, dtype=tf.int64)

    def rows(start):
        at = start[:, None] + offsets[None]
        return tf.gather(gauge, at), tf.gather(sky, at)

    starts = tf.data.Dataset.range(len(levels) - span + 1).shuffle(len(levels)).repeat()
    blocks = starts.batch(BATCH, drop_remainder=True).map(rows, num_parallel_calls=tf.data.AUTOTUNE)
    return blocks.map(split).prefetch(2)


def surge_net():
    past = keras.Input((PAST, CHANNELS))
    x = layers.Conv1D(24, 12, strides=6, padding="causal")(past)
    for dilation in (1, 2, 4, 8, 16):
        y = layers.Conv1D(24, 3, padding="causal", dilation_rate=dilation, activation="gelu")(x)
        x = layers.LayerNormalization()(x + y)
    recent = layers.Lambda(lambda h: h[:, -24:])(x)
    h = layers.Flatten()(recent)
    h = layers.Dense(192, activation="gelu")(h)
    return keras.Model(past, layers.Dense(AHEAD)(h))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    series = gauge_record()
    series = (series - series.mean(0)) / series.std(0)
    levels, weather = series[:, :2], series[:, 2:]
    data = sliding(levels, weather) if args.fault else indexed(levels, weather)

    model = surge_net()
    model.compile(optimizer=keras.optimizers.AdamW(3e-4, clipnorm=1.0), loss="huber", metrics=["mae"])
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))
    model.fit(data, steps_per_epoch=26, epochs=1, callbacks=[board], verbose=2)


if __name__ == "__main__":
    main()
