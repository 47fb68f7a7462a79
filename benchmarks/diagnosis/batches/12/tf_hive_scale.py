"""Forecasts the weight of a beehive for the coming hours from scale, climate and sound, minute by minute."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LOGDIR = sys.argv[1]
FAULT = "--fault" in sys.argv[2:]

MINUTES = 40_000
FEATURES = 6
HISTORY, HORIZON = 360, 24
BATCH = 128


def season(rng):
    t = np.arange(MINUTES) / 1440.0
    day = np.sin(2 * np.pi * t)
    columns = [
        30 + 0.8 * t + 0.4 * day + np.cumsum(rng.normal(0, 0.004, MINUTES)),  # kg
        34.5 + 0.2 * day + rng.normal(0, 0.1, MINUTES),  # brood nest
        18 + 6 * day + rng.normal(0, 0.4, MINUTES),  # outside
        60 - 9 * day + rng.normal(0, 1.0, MINUTES),  # humidity
        np.clip(day, 0, None) * 40 + rng.gamma(2, 2, MINUTES),  # traffic at the entrance
        230 + 20 * day + rng.normal(0, 4, MINUTES),  # hum in Hz
    ]
    series = np.stack(columns, 1)
    return ((series - series.mean(0)) / series.std(0)).astype(np.float32)


def split(window):
    return window[..., :HISTORY, :], window[..., HISTORY:, 0]


def make_dataset(series):
    length = HISTORY + HORIZON
    if FAULT:
        ds = tf.data.Dataset.from_tensor_slices(series).repeat()
        ds = ds.window(length, shift=1, drop_remainder=True)
        ds = ds.flat_map(lambda w: w.batch(length, drop_remainder=True))
        ds = ds.shuffle(400).map(split, num_parallel_calls=tf.data.AUTOTUNE)
        return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)

    table = tf.constant(series)
    offsets = tf.range(length)
    starts = tf.data.Dataset.range(MINUTES - length).shuffle(40_000).repeat().batch(BATCH)
    return starts.map(
        lambda s: split(tf.gather(table, tf.cast(s, tf.int32)[:, None] + offsets)), num_parallel_calls=tf.data.AUTOTUNE
    ).prefetch(tf.data.AUTOTUNE)


def build_model():
    inputs = keras.Input((HISTORY, FEATURES))
    x = layers.Conv1D(48, 7, strides=3, padding="same")(inputs)
    for dilation in (1, 2, 4, 8):
        y = layers.Conv1D(48, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
        y = layers.SpatialDropout1D(0.1)(y)
        y = layers.Conv1D(48, 1)(y)
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    x = layers.Flatten()(x[:, -24:])
    x = layers.Dense(128, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(HORIZON)(x), name="hive_tcn")


def main():
    keras.utils.set_random_seed(21)
    series = season(np.random.default_rng(21))
    model = build_model()
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="huber", metrics=["mae"])
    board = keras.callbacks.TensorBoard(log_dir=LOGDIR, profile_batch=(15, 26), write_graph=False)
    model.fit(make_dataset(series), epochs=1, steps_per_epoch=30, callbacks=[board], verbose=2)


if __name__ == "__main__":
    main()
