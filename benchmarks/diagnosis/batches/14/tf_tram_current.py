"""Forecast of the traction current of a tram network: 24 feeders of three substations, next four minutes."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FEEDERS = 24
HISTORY = 288  # 48 minutes at 10 s
HORIZON = 24
BATCH = 256
ROWS = 24_000
STEPS = 26


def record_of_load(rng):
    """Ten-second means of the feeder currents, in kA."""
    t = np.arange(ROWS)[:, None]
    day = 8640.0
    base = 0.6 + 0.35 * np.sin(2 * np.pi * (t / day - 0.3)) + 0.2 * np.sin(4 * np.pi * t / day)
    headway = rng.uniform(36, 75, size=(1, FEEDERS))
    phase = rng.uniform(0, 2 * np.pi, size=(1, FEEDERS))
    trams = np.maximum(np.sin(2 * np.pi * t / headway + phase), 0) ** 3
    noise = np.zeros((ROWS, FEEDERS))
    noise[0] = rng.normal(size=FEEDERS)
    kicks = rng.normal(scale=0.2, size=(ROWS, FEEDERS))
    for i in range(1, ROWS):
        noise[i] = 0.9 * noise[i - 1] + kicks[i]
    load = base * (0.4 + trams) + 0.15 * noise
    return load.astype("float32")


def split_window(window):
    return window[..., :HISTORY, :], window[..., HISTORY:, :]


def gathered_windows(series):
    series = tf.constant(series)
    span = tf.range(HISTORY + HORIZON)

    def cut(starts):
        return split_window(tf.gather(series, starts[:, None] + span[None, :]))

    starts = tf.data.Dataset.range(0, ROWS - HISTORY - HORIZON, 2, output_type=tf.int32)
    return (
        starts.shuffle(16_384, seed=3)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(cut, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def sliding_windows(series):
    n = HISTORY + HORIZON
    return (
        tf.data.Dataset.from_tensor_slices(series)
        .window(n, shift=2, drop_remainder=True)
        .flat_map(lambda w: w.batch(n, drop_remainder=True))
        .map(split_window, num_parallel_calls=tf.data.AUTOTUNE)
        .shuffle(768, seed=3)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )


def build_model(mean, std):
    inputs = keras.Input((HISTORY, FEEDERS))
    x = layers.Normalization(mean=mean, variance=std**2)(inputs)
    x = layers.Conv1D(48, 8, strides=4, padding="causal", activation="gelu")(x)
    for dilation in (1, 2, 4):
        y = layers.Conv1D(64, 3, padding="causal", dilation_rate=dilation, activation="gelu")(x)
        y = layers.Conv1D(48, 1)(y)
        x = layers.LayerNormalization()(x + y)
    x = layers.Conv1D(64, 4, strides=4, activation="gelu")(x)
    x = layers.Flatten()(x)
    x = layers.Dense(192, activation="gelu")(x)
    x = layers.Dropout(0.1)(x)
    x = layers.Dense(HORIZON * FEEDERS)(x)
    outputs = layers.Reshape((HORIZON, FEEDERS))(x)
    return keras.Model(inputs, outputs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(17)
    series = record_of_load(np.random.default_rng(17))
    windows = sliding_windows(series) if args.fault else gathered_windows(series)

    model = build_model(series.mean(0), series.std(0))
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="huber", metrics=["mae"])
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20), write_graph=False)
    model.fit(windows, epochs=1, steps_per_epoch=STEPS, callbacks=[board], verbose=2)


if __name__ == "__main__":
    main()
