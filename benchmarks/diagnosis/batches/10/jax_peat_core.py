"""Dates slices of peat cores from their hyperspectral scans (Keras 3 on JAX, torch DataLoader)."""

import argparse
import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np
import torch
from keras import layers
from torch.utils.data import DataLoader, Dataset

LENGTH = 256
BANDS = 32
BATCH = 32
FIRST, LAST = 8, 18


class Cores(Dataset):
    """Windows of LENGTH slices out of long cores with the calibrated age at the window's middle."""

    def __init__(self, cores=12, slices=2048, seed=14):
        rng = np.random.default_rng(seed)
        rate = rng.gamma(4.0, 0.25, (cores, slices)).astype(np.float32)
        self.age = rate.cumsum(1) / slices
        signature = rng.standard_normal((2, BANDS)).astype(np.float32)
        self.scan = np.stack([np.sin(9 * self.age), rate], -1) @ signature
        self.scan += 0.1 * rng.standard_normal(self.scan.shape).astype(np.float32)
        self.starts = [(c, s) for c in range(cores) for s in range(0, slices - LENGTH, 32)]

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, index):
        core, start = self.starts[index]
        window = torch.from_numpy(self.scan[core, start : start + LENGTH])
        return window, torch.tensor([self.age[core, start + LENGTH // 2]])


def mixer(x, width, name):
    y = layers.LayerNormalization(name=f"{name}_norm")(x)
    y = layers.Conv1D(width, 7, padding="same", activation="gelu", name=f"{name}_conv")(y)
    y = layers.Dense(2 * width, activation="gelu", name=f"{name}_up")(y)
    return x + layers.Dense(width, name=f"{name}_down")(y)


def build():
    scan = keras.Input((LENGTH, BANDS), name="scan")
    x = layers.Conv1D(64, 5, strides=2, padding="same", name="stem")(scan)
    for block in range(3):
        x = mixer(x, 64, f"mixer{block}")
    x = layers.GlobalAveragePooling1D(name="pool")(x)
    x = layers.Dropout(0.1)(layers.Dense(64, activation="gelu", name="readout")(x))
    return keras.Model(scan, layers.Dense(1, name="age")(x), name="peat_dater")


class ProfileBatches(keras.callbacks.Callback):
    def __init__(self, logdir, first, last):
        super().__init__()
        self.logdir, self.first, self.last = logdir, first, last

    def on_train_batch_begin(self, batch, logs=None):
        if batch == self.first:
            jax.profiler.start_trace(self.logdir)

    def on_train_batch_end(self, batch, logs=None):
        if batch == self.last:
            jax.profiler.stop_trace()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    keras.utils.set_random_seed(0)
    loader = DataLoader(Cores(), batch_size=BATCH, shuffle=True, drop_last=True)
    model = build()
    model.compile(optimizer=keras.optimizers.AdamW(1e-3), loss="huber", metrics=["mae"])
    model.fit(loader, epochs=1, callbacks=[ProfileBatches(args.logdir, FIRST, LAST)], verbose=2)


if __name__ == "__main__":
    main()
