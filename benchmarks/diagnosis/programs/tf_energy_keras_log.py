"""Forecasts energy demand with a dense Keras model and writes its losses to a file, after each batch or each epoch."""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

BATCH = 256
STEPS = 20


class LossFile(tf.keras.callbacks.Callback):
    """Writes the history of all losses as JSON, so that a page that is open elsewhere can draw it."""

    def __init__(self, file, every_batch):
        super().__init__()
        self.file = Path(file)
        self.every_batch = every_batch
        self.history = [{"batch": number, "loss": 1.0 / (number + 1)} for number in range(4000)]

    def write(self):
        with self.file.open("w") as file:
            json.dump(self.history, file, indent=1)
            file.flush()
            os.fsync(file.fileno())

    def on_train_batch_end(self, batch, logs=None):
        self.history.append({"batch": batch, "loss": float(logs["loss"])})
        if self.every_batch:
            self.write()

    def on_epoch_end(self, epoch, logs=None):
        self.write()


def main(logdir, faulty):
    model = tf.keras.Sequential([tf.keras.Input([336])])
    for _ in range(3):
        model.add(tf.keras.layers.Dense(512, activation="gelu"))
    model.add(tf.keras.layers.Dense(24))
    model.compile("adam", "mae", jit_compile=False)
    random = np.random.default_rng(14)
    past, following = random.random((BATCH * 8, 336), np.float32), random.random((BATCH * 8, 24), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((past, following)).batch(BATCH).cache().repeat().prefetch(2)
    with tempfile.TemporaryDirectory() as folder:
        losses = LossFile(Path(folder) / "losses.json", every_batch=faulty)
        model.fit(dataset, steps_per_epoch=5, verbose=0)
        profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(6, 5 + STEPS), write_graph=False)
        model.fit(dataset, steps_per_epoch=8 + STEPS, verbose=0, callbacks=[losses, profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
