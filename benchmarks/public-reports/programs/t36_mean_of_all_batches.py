import os

import keras
import numpy as np

EPOCH, BATCH = 15_000, 4


class ProgressBar(keras.callbacks.Callback):
    """Shows the mean of each metric over the epoch so far."""

    def __init__(self, every=1000):
        super().__init__()
        self.every = every

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch
        self.running_logs = {}

    def append_logs(self, logs):
        for name, value in logs.items():
            self.running_logs.setdefault(name, []).append(value)

    def format_metrics(self):
        return ", ".join(f"{name}: {np.mean(values):.3f}" for name, values in self.running_logs.items())

    def on_train_batch_end(self, batch, logs=None):
        self.append_logs(logs)
        description = f"Epoch {self.epoch}, batch {batch} - {self.format_metrics()}"
        if batch % self.every == 0:
            print(description)


def main():
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(EPOCH * BATCH, 16)).astype("float32")
    y = np.sin(x.sum(1, keepdims=True))
    model = keras.Sequential(
        [keras.layers.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(0.01), "mse", metrics=["mae"])
    epochs = int(os.environ.get("STEPS", 2 * EPOCH)) // EPOCH
    model.fit(x, y, batch_size=BATCH, epochs=epochs, verbose=0, callbacks=[ProgressBar()])


main()
