import os

import keras
import numpy as np
import tensorflow as tf

USERS, ITEMS, WIDTH = 5000, 40_000, 32


class Retrieval(keras.Model):
    def __init__(self):
        super().__init__()
        self.users = keras.layers.Embedding(USERS, WIDTH)
        self.items = keras.layers.Embedding(ITEMS, WIDTH)
        self.top_100 = keras.metrics.Mean(name="top_100")
        self.mean_loss = keras.metrics.Mean(name="loss")

    def call(self, pair):
        return self.users(pair[0]), self.items(pair[1])

    def update_top_k(self, query, wanted):
        scores = tf.matmul(query, self.items.embeddings, transpose_b=True)
        best = tf.math.top_k(scores, 100).indices
        self.top_100.update_state(tf.reduce_any(best == wanted[:, None], axis=1))

    def train_step(self, pair):
        user, item = pair
        with tf.GradientTape() as tape:
            query, candidate = self((user, item), training=True)
            scores = tf.matmul(query, candidate, transpose_b=True)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(tf.shape(user)[0]), scores)
            )
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        self.update_top_k(query, item)
        self.mean_loss.update_state(loss)
        return {"loss": self.mean_loss.result(), "top_100": self.top_100.result()}


def main():
    rng = np.random.default_rng(0)
    users = rng.integers(0, USERS, 25_600).astype("int32")
    items = rng.integers(0, ITEMS, 25_600).astype("int32")
    batches = tf.data.Dataset.from_tensor_slices((users, items)).batch(256, drop_remainder=True)
    model = Retrieval()
    model.compile(keras.optimizers.SGD(0.1))
    model.fit(batches.prefetch(2), epochs=int(os.environ.get("STEPS", 1000)) // 100, verbose=2)


main()
