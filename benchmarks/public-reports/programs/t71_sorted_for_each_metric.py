import os

import keras
import numpy as np
import tensorflow as tf

ITEMS, HISTORY, BATCH, EPOCH = 20_000, 10, 128, 25


class TopKMetric(keras.metrics.Metric):
    """Mean over the batches of a measure of the K items with the best scores."""

    def __init__(self, k, name):
        super().__init__(name=f"{name}_at_{k}")
        self.k = k
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def measure(self, hits):
        raise NotImplementedError

    def update_state(self, y_true, y_pred, sample_weight=None):
        ties = tf.random.uniform(tf.shape(y_pred), maxval=1e-6)
        _, order = tf.math.top_k(y_pred + ties, self.k)
        hits = tf.cast(tf.equal(order, tf.cast(tf.reshape(y_true, (-1, 1)), order.dtype)), tf.float32)
        self.total.assign_add(tf.reduce_sum(self.measure(hits)))
        self.count.assign_add(tf.cast(tf.shape(hits)[0], tf.float32))

    def result(self):
        return self.total / (self.count + 1e-7)


class RecallAt(TopKMetric):
    def measure(self, hits):
        return tf.reduce_sum(hits, -1)


class NDCGAt(TopKMetric):
    def measure(self, hits):
        return tf.reduce_sum(hits * np.log(2) / tf.math.log(tf.range(2.0, self.k + 2)), -1)


def make_sessions(count, seed):
    """What was clicked in a session, where neighbouring items follow each other."""
    rng = np.random.default_rng(seed)
    start = (rng.pareto(1, count) * 300).astype(int) % ITEMS
    walk = np.cumsum(rng.integers(0, 4, (count, HISTORY)), 1)
    clicks = (start[:, None] + walk) % ITEMS
    return clicks[:, :-1].astype("int32"), clicks[:, -1].astype("int32")


def main(steps):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((HISTORY - 1,), dtype="int32"),
            keras.layers.Embedding(ITEMS, 32),
            keras.layers.GRU(32),
            keras.layers.Dense(ITEMS),
        ]
    )
    model.compile(
        keras.optimizers.SGD(0.5),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[kind(k, name) for k in (5, 10, 20) for kind, name in ((RecallAt, "recall"), (NDCGAt, "ndcg"))],
    )
    sessions, following = make_sessions(EPOCH * BATCH, 1)
    model.fit(sessions, following, batch_size=BATCH, epochs=max(1, steps // EPOCH), verbose=2)


main(int(os.environ.get("STEPS", 150)))
