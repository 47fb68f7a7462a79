import os

import keras
import numpy as np
import tensorflow as tf


class RandomContrast(keras.layers.Layer):
    """Another contrast for each picture."""

    def adjusted(self, picture):
        factor = tf.random.uniform((), 0.8, 1.2)
        return tf.clip_by_value(tf.image.adjust_contrast(picture, factor), 0.0, 1.0)

    def call(self, pictures, training=False):
        if not training:
            return pictures
        return tf.map_fn(self.adjusted, pictures)


def main():
    rng = np.random.default_rng(0)
    pictures = rng.random((2048, 32, 32, 3)).astype("float32")
    labels = rng.integers(0, 10, 2048)
    model = keras.Sequential(
        [
            keras.layers.Input((32, 32, 3)),
            RandomContrast(),
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    epochs = int(os.environ.get("STEPS", 1600)) // 16
    model.fit(pictures, labels, batch_size=128, epochs=epochs, verbose=2)


main()
