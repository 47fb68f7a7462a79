"""Forecasts the gearbox temperature of wind turbines from two and a half days of SCADA channels (Keras, TCN)."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras

HISTORY = 360          # ten-minute readings
CHANNELS = 14
BATCH = 128


def load_scada(length=30_000, seed=3):
    rng = np.random.default_rng(seed)
    hours = np.arange(length) / 6.0
    wind = 8 + 3 * np.sin(2 * np.pi * hours / 24) + rng.normal(0, 0.1, length).cumsum() * 0.1
    load = np.clip(wind, 3, 14) ** 3 / 2744
    series = rng.normal(0, 0.3, (length, CHANNELS))
    series[:, 0], series[:, 1] = wind, load
    for c in range(2, CHANNELS):
        series[:, c] += np.roll(load, 3 * c) * rng.normal(1, 0.2)
    gearbox = 45 + 20 * np.convolve(load, np.ones(30) / 30, mode="same") + rng.normal(0, 0.3, length)
    series = (series - series.mean(0)) / series.std(0)
    gearbox = (gearbox - gearbox.mean()) / gearbox.std()
    return np.concatenate([series, gearbox[:, None]], axis=1).astype("float32")


def last_reading(history, target):
    return history, target[-1]


def make_dataset(table, windowed):
    if windowed:
        history = tf.data.Dataset.from_tensor_slices(table[:-1])
        target = tf.data.Dataset.from_tensor_slices(table[1:, -1:])
        ds = tf.data.Dataset.zip((history, target)).window(HISTORY, shift=1, drop_remainder=True)
        ds = ds.flat_map(lambda h, t: tf.data.Dataset.zip((h.batch(HISTORY), t.batch(HISTORY))))
        ds = ds.map(last_reading).shuffle(1024, seed=5).repeat()
        return ds.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)

    data = tf.constant(table)
    offsets = tf.range(HISTORY)

    def gather(starts):
        rows = starts[:, None] + offsets
        return tf.gather(data, rows), tf.gather(data, starts + HISTORY)[:, -1:]

    starts = np.arange(len(table) - HISTORY, dtype="int32")
    ds = tf.data.Dataset.from_tensor_slices(starts).shuffle(len(starts), seed=5).repeat()
    return ds.batch(BATCH, drop_remainder=True).map(gather, num_parallel_calls=2).prefetch(tf.data.AUTOTUNE)


def tcn_block(x, width, dilation):
    h = keras.layers.Conv1D(width, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
    h = keras.layers.Dropout(0.1)(h)
    h = keras.layers.Conv1D(width, 1)(h)
    if x.shape[-1] != width:
        x = keras.layers.Conv1D(width, 1)(x)
    return keras.layers.LayerNormalization()(keras.layers.Add()([x, h]))


def build_model():
    inputs = keras.Input((HISTORY, CHANNELS + 1))
    x = keras.layers.Conv1D(24, 5, strides=4, padding="same", activation="relu")(inputs)
    for dilation in (1, 4, 16):
        x = tcn_block(x, 24, dilation)
    last = keras.layers.Lambda(lambda t: t[:, -1])(x)
    h = keras.layers.Concatenate()([last, keras.layers.GlobalAveragePooling1D()(x)])
    h = keras.layers.Dense(64, activation="relu")(h)
    return keras.Model(inputs, keras.layers.Dense(1)(h), name="gearbox")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(2)

    train = make_dataset(load_scada(), windowed=args.fault)
    model = build_model()
    model.compile(optimizer=keras.optimizers.AdamW(1e-3), loss=keras.losses.Huber())
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20), write_graph=False)
    history = model.fit(train, epochs=1, steps_per_epoch=24, callbacks=[board], verbose=0)
    print("huber", round(history.history["loss"][-1], 4))


if __name__ == "__main__":
    main()
