"""Forecasts the next day of the water level at a tide gauge from the three weeks before it."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras

WINDOW, HORIZON, BATCH = 504, 24, 128
HOURS, CHANNELS = 20_000, 6


def gauge_record(seed=4):
    """Level, pressure, two wind components, river discharge and moon phase, hour by hour."""
    rng = np.random.default_rng(seed)
    t = np.arange(HOURS, dtype=np.float64)
    level = sum(a * np.sin(2 * np.pi * t / p + ph) for a, p, ph in ((1.1, 12.42, 0.3), (0.4, 12.0, 1.1), (0.2, 25.82, 2.0)))
    weather = np.cumsum(rng.normal(size=(HOURS, 4)), axis=0)
    weather = (weather - weather.mean(0)) / weather.std(0)
    surge = 0.15 * weather[:, 0] - 0.1 * weather[:, 1]
    moon = np.sin(2 * np.pi * t / 708.7)
    record = np.column_stack([level + surge + 0.05 * rng.normal(size=HOURS), weather, moon])
    return record.astype(np.float32)


def split(window):
    return window[:, :WINDOW], window[:, WINDOW:, 0]


def windows_from_starts(record):
    table = tf.constant(record)
    span = tf.range(WINDOW + HORIZON, dtype=tf.int64)
    starts = tf.data.Dataset.range(len(record) - WINDOW - HORIZON)
    return (
        starts.shuffle(len(record), seed=1)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(lambda s: split(tf.gather(table, s[:, None] + span)), num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def windows_from_rows(record):
    size = WINDOW + HORIZON
    rows = tf.data.Dataset.from_tensor_slices(record)
    return (
        rows.window(size, shift=1, drop_remainder=True)
        .flat_map(lambda w: w.batch(size, drop_remainder=True))
        .shuffle(1000, seed=1)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(split, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def build():
    x = inputs = keras.Input((WINDOW, CHANNELS))
    for width in (24, 48, 80):
        x = keras.layers.Conv1D(width, 5, strides=2, padding="same")(x)
        x = keras.layers.LayerNormalization()(x)
        x = keras.layers.Activation("relu")(x)
    x = keras.layers.Conv1D(80, 3, dilation_rate=2, padding="same", activation="relu")(x)
    recent = keras.layers.Cropping1D((x.shape[1] - 6, 0))(x)
    x = keras.layers.Concatenate()([keras.layers.GlobalAveragePooling1D()(x), keras.layers.Flatten()(recent)])
    x = keras.layers.Dense(128, activation="relu")(x)
    return keras.Model(inputs, keras.layers.Dense(HORIZON)(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(3)

    record = gauge_record()
    windows = windows_from_rows(record) if args.fault else windows_from_starts(record)
    model = build()
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="huber", metrics=["mae"])
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(8, 18), write_graph=False)
    history = model.fit(windows, steps_per_epoch=20, epochs=1, callbacks=[board], verbose=0)
    print("mean absolute error:", round(history.history["mae"][-1], 3))


if __name__ == "__main__":
    main()
