"""Forecasts storm surge at tide gauges from two weeks of levels, pressure and wind (an archive of the harbour office)."""
import argparse
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

HOURS, CHANNELS, AHEAD, BATCH = 336, 6, 24, 64


def write_archive(path, windows=7000):
    rng = np.random.default_rng(30)
    hours = np.arange(HOURS + AHEAD)
    phase = rng.uniform(0, 2 * np.pi, (windows, 1, CHANNELS))
    tide = 1200 * np.sin(2 * np.pi * hours[None, :, None] / 12.42 + phase)
    weather = rng.normal(0, 25, (windows, HOURS + AHEAD, CHANNELS)).cumsum(axis=1)
    series = (tide + weather).clip(-30000, 30000).astype(np.int16)
    np.savez_compressed(path, history=series[:, :HOURS], surge=series[:, HOURS:, 0])


class GaugeWindows(keras.utils.PyDataset):
    def __init__(self, path, fault, **kwargs):
        super().__init__(**kwargs)
        self.archive = np.load(path)
        if not fault:
            self.archive = {name: self.archive[name] for name in self.archive.files}
        self.count = len(self.archive["surge"])
        self.order = np.random.default_rng(0).permutation(self.count)

    def __len__(self):
        return self.count // BATCH

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        history = self.archive["history"][rows].astype(np.float32) / 1000
        return history, self.archive["surge"][rows].astype(np.float32) / 1000

    def on_epoch_end(self):
        np.random.default_rng().shuffle(self.order)


def make_model():
    inputs = keras.Input((HOURS, CHANNELS))
    x = layers.Conv1D(96, 7, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv1D(128, 5, strides=2, padding="same", activation="relu")(x)
    x = layers.LayerNormalization()(x)
    x = layers.LSTM(96)(x)
    x = layers.Dropout(0.2)(layers.Dense(128, activation="relu")(x))
    return keras.Model(inputs, layers.Dense(AHEAD)(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(12)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gauges.npz")
        write_archive(path)
        windows = GaugeWindows(path, args.fault)
        model = make_model()
        model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=keras.losses.Huber(), metrics=["mae"])
        board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))
        stop = keras.callbacks.TerminateOnNaN()
        history = model.fit(windows, epochs=1, steps_per_epoch=24, callbacks=[board, stop], verbose=0)
    print(f"loss {history.history['loss'][-1]:.4f}")


if __name__ == "__main__":
    main()
