"""Power of a wind farm an hour ahead from the last readings of all turbines. Weights are averaged over the run."""

import argparse
import math
import os
import tempfile

import keras
import numpy as np
from keras import layers

TURBINES, CHANNELS, HISTORY = 64, 4, 12
BATCH = 32


class Readings(keras.utils.PyDataset):
    def __init__(self, path, batch_size, seed=0, **kwargs):
        super().__init__(**kwargs)
        self.series = np.load(path, mmap_mode="r")
        self.batch_size = batch_size
        self.rng = np.random.default_rng(seed)
        self.starts = np.arange(len(self.series) - HISTORY - 6)
        self.on_epoch_end()

    def __len__(self):
        return math.ceil(len(self.starts) / self.batch_size)

    def __getitem__(self, index):
        starts = self.starts[index * self.batch_size : (index + 1) * self.batch_size]
        rows = starts[:, None] + np.arange(HISTORY)
        x = self.series[rows].reshape(len(starts), -1)
        y = self.series[starts + HISTORY + 5][:, :, 0]
        return x, y

    def on_epoch_end(self):
        self.rng.shuffle(self.starts)


class AverageWeights(keras.callbacks.Callback):
    def __init__(self, decay):
        super().__init__()
        self.decay = decay
        self.average = None

    def on_train_begin(self, logs=None):
        self.average = [w.astype(np.float64) for w in self.model.get_weights()]

    def on_train_batch_end(self, batch, logs=None):
        self.average = [
            self.decay * a + (1.0 - self.decay) * w for a, w in zip(self.average, self.model.get_weights())
        ]

    def on_train_end(self, logs=None):
        self.model.set_weights(self.average)


def write_series(path, rows):
    rng = np.random.default_rng(55)
    wind = 8 + np.cumsum(rng.normal(0, 0.05, rows))
    series = rng.standard_normal((rows, TURBINES, CHANNELS), dtype=np.float32)
    series[:, :, 0] += wind[:, None]
    np.save(path, series.astype(np.float32))


def build_model():
    inputs = keras.Input((HISTORY * TURBINES * CHANNELS,))
    x = layers.LayerNormalization()(inputs)
    x = layers.Dense(1280, activation="swish")(x)
    for _ in range(2):
        y = layers.Dense(1280, activation="swish")(layers.LayerNormalization()(x))
        x = layers.add([x, layers.Dropout(0.1)(y)])
    return keras.Model(inputs, layers.Dense(TURBINES)(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(5)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "readings.npy")
        write_series(path, 24 * BATCH + HISTORY)
        callbacks = [keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(8, 18))]
        if args.fault:
            optimizer = keras.optimizers.SGD(1e-3, momentum=0.9)
            callbacks.append(AverageWeights(0.999))
        else:
            optimizer = keras.optimizers.SGD(1e-3, momentum=0.9, use_ema=True, ema_momentum=0.999)
        model = build_model()
        model.compile(optimizer=optimizer, loss="mse", metrics=["mae"])
        model.fit(Readings(path, BATCH), epochs=1, verbose=2, callbacks=callbacks)


if __name__ == "__main__":
    main()
