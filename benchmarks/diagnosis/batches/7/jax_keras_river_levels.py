"""Keras 3 on JAX predicts river levels; windows come from a PyDataset with two threads."""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

STEPS = 11
WINDOW = 192
GAUGES = 12


class RiverWindows(keras.utils.PyDataset):
    """Cuts windows out of one long recording, a batch at a time."""

    def __init__(self, levels, batch_size, batches, **kwargs):
        super().__init__(**kwargs)
        self.levels = levels
        self.batch_size = batch_size
        self.batches = batches

    def __len__(self):
        return self.batches

    def __getitem__(self, idx):
        rng = np.random.default_rng(idx)
        starts = rng.integers(0, len(self.levels) - WINDOW - 1, self.batch_size)
        rows = starts[:, None] + np.arange(WINDOW)
        return self.levels[rows], self.levels[starts + WINDOW]


def build_model():
    x = inputs = layers.Input((WINDOW, GAUGES))
    for dilation in (1, 2, 4, 8):
        y = layers.Conv1D(64, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
        if x.shape[-1] != 64:
            x = layers.Conv1D(64, 1)(x)
        x = layers.LayerNormalization()(layers.add([x, y]))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(GAUGES)(x))


def main(logdir, faulty):
    del faulty
    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(4)
    levels = np.cumsum(rng.normal(0, 0.02, (30000, GAUGES)), axis=0).astype("float32")
    model = build_model()
    model.compile(optimizer="adam", loss="mse")
    train = RiverWindows(levels, batch_size=64, batches=26, workers=2, use_multiprocessing=False, max_queue_size=8)
    tensorboard = keras.callbacks.TensorBoard(log_dir=logdir, profile_batch=(10, 20), write_graph=False)
    model.fit(train, epochs=1, verbose=0, callbacks=[tensorboard])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
