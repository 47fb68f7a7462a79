"""Guesses from drawings of marble runs in which cup the marble will end.

    python tf_marble_runs.py LOGDIR
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import argparse

import keras
import numpy as np
from keras import layers

CUPS = 6
SIDE = 96
BATCH = 16


class MarbleRuns(keras.utils.PyDataset):
    """Draws ramps at random and drops the marble through them."""

    def __init__(self, batches, **kwargs):
        super().__init__(**kwargs)
        self.batches = batches

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        rng = np.random.default_rng(1000 + index)
        ramps = rng.integers(0, SIDE - 20, (BATCH, 7))
        slope = rng.choice([-1, 1], (BATCH, 7))
        x = rng.integers(0, SIDE, BATCH)
        pictures = np.zeros((BATCH, SIDE, SIDE, 2), np.float32)
        rows = np.arange(BATCH)
        for level in range(7):
            hit = (x >= ramps[:, level]) & (x < ramps[:, level] + 20)
            x = np.clip(np.where(hit, np.where(slope[:, level] > 0, ramps[:, level] + 20, ramps[:, level] - 1), x),
                        0, SIDE - 1)
            for column in range(20):
                height = 8 + 12 * level + np.where(slope[:, level] > 0, column, 20 - column) // 4
                pictures[rows, height, ramps[:, level] + column, 0] = 1.0
        pictures[..., 1] = np.linspace(0, 1, SIDE, dtype=np.float32)[:, None]
        return pictures, (x * CUPS // SIDE).astype(np.int32)


def make_model():
    inputs = keras.Input((SIDE, SIDE, 2))
    x = layers.Conv2D(32, 5, strides=2, padding="same", activation="relu")(inputs)
    for filters in (48, 64):
        y = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(y)
    x = layers.Conv2D(96, 3, padding="same", activation="relu")(x)
    x = layers.Flatten()(x)
    x = layers.Dense(64, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(CUPS)(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true", help="no effect")
    args = parser.parse_args()
    keras.utils.set_random_seed(77)

    model = make_model()
    model.compile(
        optimizer=keras.optimizers.RMSprop(5e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(MarbleRuns(8), epochs=1, verbose=2)
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=2)
    model.fit(MarbleRuns(8, workers=2, max_queue_size=8), epochs=1, callbacks=[board], verbose=2)


if __name__ == "__main__":
    main()
