"""Trains a small face classifier with Keras fit; a callback may keep histograms of all weights."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 64
STEPS = 16


class WeightHistograms(tf.keras.callbacks.Callback):
    """Keeps a histogram and the extremes of every weight."""

    def __init__(self, every):
        super().__init__()
        self.every = every
        self.kept = []

    def on_train_batch_end(self, batch, logs=None):
        if batch % self.every == 0:
            for weights in self.model.get_weights():
                self.kept.append((np.histogram(weights, 100), np.percentile(weights, [5, 50, 95])))


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [
            tf.keras.Input([32, 32, 1]),
            tf.keras.layers.Conv2D(24, 3, activation="relu"),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Conv2D(32, 3, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(20),
        ]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.SGD(0.05), loss, jit_compile=False)
    random = np.random.default_rng(13)
    faces = random.random((BATCH * 10, 32, 32, 1), np.float32)
    names = random.integers(0, 20, BATCH * 10)
    dataset = tf.data.Dataset.from_tensor_slices((faces, names)).batch(BATCH).cache().repeat().prefetch(2)
    histograms = WeightHistograms(every=1 if faulty else 1000)
    model.fit(dataset, steps_per_epoch=5, verbose=0)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(6, 5 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=8 + STEPS, verbose=0, callbacks=[histograms, profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
