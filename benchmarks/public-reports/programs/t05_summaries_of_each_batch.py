import os
import tempfile

import keras
import numpy as np


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3200, 20)).astype("float32")
    y = (x.sum(1) > 0).astype("float32")
    model = keras.Sequential(
        [keras.layers.Input((20,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1, "sigmoid")]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy", "mae", "mse", "precision", "recall"])
    board = keras.callbacks.TensorBoard(tempfile.mkdtemp(), update_freq=1, write_steps_per_second=True, profile_batch=0)
    epochs = int(os.environ.get("STEPS", 12000)) // 100
    model.fit(x, y, batch_size=32, epochs=epochs, verbose=2, callbacks=[board])


main()
