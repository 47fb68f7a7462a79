"""Counts cells with Keras fit; a callback draws a picture of what the model sees after each batch, or after an epoch."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 32
STEPS = 14


class Pictures(tf.keras.callbacks.Callback):
    """Draws the first layer's kernels as text."""

    def __init__(self, every_batch):
        super().__init__()
        self.every_batch = every_batch
        self.drawn = ""

    def draw(self):
        kernels = self.model.layers[0].get_weights()[0]
        rows = [" ".join(f"{value:+.3f}" for value in row) for row in kernels.reshape(-1, kernels.shape[-1])]
        self.drawn = "\n".join(rows * 12)
        return sum(float(value) for row in rows for value in row.split())

    def on_train_batch_end(self, batch, logs=None):
        if self.every_batch:
            for _ in range(6):
                self.draw()

    def on_epoch_end(self, epoch, logs=None):
        self.draw()


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [
            tf.keras.Input([48, 48, 1]),
            tf.keras.layers.Conv2D(32, 5, activation="relu"),
            tf.keras.layers.Conv2D(32, 5, strides=2, activation="relu"),
            tf.keras.layers.GlobalMaxPooling2D(),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile("rmsprop", "mse", jit_compile=False)
    random = np.random.default_rng(34)
    slides, counts = random.random((BATCH * 8, 48, 48, 1), np.float32), random.random(BATCH * 8, np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((slides, counts)).batch(BATCH).cache().repeat().prefetch(2)
    model.fit(dataset, steps_per_epoch=5, verbose=0)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(6, 5 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=8 + STEPS, verbose=0, callbacks=[Pictures(every_batch=faulty), profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
