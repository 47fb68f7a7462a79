"""Ranks insurance claims with a custom train_step of Keras, whose loss weighs pairs in NumPy or in TensorFlow ops."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 96
STEPS = 14


def weights_by_numpy(costs):
    """By how much two claims would change places in the list."""
    places = np.argsort(np.argsort(-costs))
    apart = np.abs(np.subtract.outer(1 / np.log2(places + 2.0), 1 / np.log2(places + 2.0)))
    seen = np.zeros_like(apart)
    for row, own in enumerate(costs):
        seen[row] = [apart[row, other] * max(own - cost, 0) for other, cost in enumerate(costs)]
    return (seen / seen.sum()).astype(np.float32)


def weights_by_ops(costs):
    places = tf.cast(tf.argsort(tf.argsort(-costs)), tf.float32)
    gains = 1 / (tf.math.log(places + 2.0) / tf.math.log(2.0))
    apart = tf.abs(gains[:, None] - gains[None]) * tf.nn.relu(costs[:, None] - costs[None])
    return apart / tf.reduce_sum(apart)


class Ranker(tf.keras.Model):
    """A dense network trained on pairs."""

    def __init__(self, faulty):
        super().__init__()
        self.layers_of = [tf.keras.layers.Dense(256, "relu") for _ in range(3)] + [tf.keras.layers.Dense(1)]
        self.faulty = faulty
        self.mean = tf.keras.metrics.Mean(name="loss")

    def call(self, claims):
        for layer in self.layers_of:
            claims = layer(claims)
        return claims[:, 0]

    def train_step(self, data):
        claims, costs = data
        if self.faulty:
            weights = tf.ensure_shape(tf.numpy_function(weights_by_numpy, [costs], tf.float32), [BATCH, BATCH])
        else:
            weights = weights_by_ops(costs)
        with tf.GradientTape() as tape:
            scores = self(claims, training=True)
            loss = tf.reduce_sum(weights * tf.nn.softplus(scores[None] - scores[:, None]))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.mean.update_state(loss)
        return {"loss": self.mean.result()}


def main(logdir, faulty):
    random = np.random.default_rng(53)
    claims, costs = random.random((BATCH * 10, 60), np.float32), random.lognormal(0, 1, BATCH * 10).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((claims, costs)).batch(BATCH).cache().repeat().prefetch(2)
    model = Ranker(faulty)
    model.compile("adam", jit_compile=False)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(9, 8 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=12 + STEPS, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
