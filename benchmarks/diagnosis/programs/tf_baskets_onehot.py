"""Guesses the next purchase with Keras fit; goods are one-hot rows times a matrix, or rows of an embedding."""

import sys

import numpy as np
import tensorflow as tf

GOODS, BASKET, BATCH, WIDTH = 8000, 12, 96, 48
STEPS = 14


class OneHotDense(tf.keras.layers.Layer):
    """Vectors of goods by a product with their one-hot rows."""

    def build(self, _):
        self.kernel = self.add_weight(shape=(GOODS, WIDTH), initializer="uniform")

    def call(self, goods):
        return tf.tensordot(tf.one_hot(goods, GOODS), self.kernel, 1)


def main(logdir, faulty):
    goods = tf.keras.Input([BASKET], dtype="int32")
    vectors = OneHotDense()(goods) if faulty else tf.keras.layers.Embedding(GOODS, WIDTH)(goods)
    hidden = tf.keras.layers.Reshape([BASKET * WIDTH])(vectors)
    for _ in range(2):
        hidden = tf.keras.layers.Dense(256, "relu")(hidden)
    model = tf.keras.Model(goods, tf.keras.layers.Dense(200)(hidden))
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adagrad(0.05), loss, jit_compile=False)

    random = np.random.default_rng(77)
    baskets, following = random.integers(0, GOODS, (BATCH * 16, BASKET)), random.integers(0, 200, BATCH * 16)
    dataset = tf.data.Dataset.from_tensor_slices((baskets.astype("int32"), following)).shuffle(BATCH * 16)
    dataset = dataset.repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(13, 12 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=16 + STEPS, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
