import os
import tempfile

import keras
import numpy as np

FOLDER = tempfile.mkdtemp()


class WeightsSaver(keras.callbacks.Callback):
    """Keeps the weights of every tenth batch."""

    def __init__(self, every):
        super().__init__()
        self.every = every
        self.batch = 0

    def on_train_batch_end(self, batch, logs=None):
        if self.batch % self.every == 0:
            self.model.save_weights(os.path.join(FOLDER, f"at_{self.batch % 50}.weights.h5"))
        self.batch += 1


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6400, 64)).astype("float32")
    y = x.sum(1, keepdims=True)
    model = keras.Sequential(
        [keras.layers.Input((64,)), *[keras.layers.Dense(256, "relu") for _ in range(6)], keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    epochs = int(os.environ.get("STEPS", 8000)) // 100
    model.fit(x, y, batch_size=64, epochs=epochs, verbose=2, callbacks=[WeightsSaver(2)])


main()
