import os

import keras
import numpy as np
import tensorflow as tf


class MatrixFactorization(keras.Model):
    def __init__(self, users, items, width):
        super().__init__()
        self.users = keras.layers.Embedding(users, width)
        self.items = keras.layers.Embedding(items, width)
        self.bias = keras.layers.Embedding(items, 1)

    def call(self, pair):
        user, item = pair[:, 0], pair[:, 1]
        score = tf.reduce_sum(self.users(user) * self.items(item), axis=1, keepdims=True)
        return tf.sigmoid(score + self.bias(item))


def main():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 1000, (51_200, 2)).astype("int32")
    rated = (pairs.sum(1, keepdims=True) % 2).astype("float32")
    model = MatrixFactorization(1000, 1000, 16)
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"], run_eagerly=True)
    epochs = int(os.environ.get("STEPS", 1500)) // 100
    model.fit(pairs, rated, batch_size=512, epochs=epochs, verbose=2)


main()
