"""Predicts odour notes of perfume accords from GC-MS chromatograms with a Lipschitz-bounded network."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

BINS = 1024
WIDTH = 128
BLOCKS = 8
NOTES = 18
BATCH = 256
WARMUP, RECORDED = 8, 10


def accords(count, seed=5):
    rng = np.random.default_rng(seed)
    axis = np.arange(BINS, dtype=np.float32)
    molecules = np.stack(
        [np.exp(-0.5 * ((axis - c) / w) ** 2) for c, w in zip(rng.uniform(20, BINS - 20, 60), rng.uniform(2, 8, 60))]
    ).astype(np.float32)
    smell = rng.standard_normal((60, NOTES)).astype(np.float32) * 0.5
    share = rng.gamma(0.3, 1.0, (count, 60)).astype(np.float32)
    share /= share.sum(1, keepdims=True)
    trace = share @ molecules + 0.002 * rng.standard_normal((count, BINS)).astype(np.float32)
    return trace, share @ smell


class LipschitzDense(keras.layers.Layer):
    """Dense layer whose kernel is divided by its largest singular value."""

    def __init__(self, units, exact=False, **kwargs):
        super().__init__(**kwargs)
        self.units, self.exact = units, exact

    def build(self, shape):
        self.kernel = self.add_weight(name="kernel", shape=(shape[-1], self.units), initializer="glorot_uniform")
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")
        self.u = self.add_weight(name="u", shape=(1, self.units), initializer="random_normal", trainable=False)

    def largest_singular_value(self):
        if self.exact:
            return tf.norm(self.kernel, ord=2, axis=[-2, -1])
        v = tf.math.l2_normalize(tf.matmul(self.u, self.kernel, transpose_b=True))
        u = tf.math.l2_normalize(tf.matmul(v, self.kernel))
        u, v = tf.stop_gradient(u), tf.stop_gradient(v)
        self.u.assign(u)
        return tf.squeeze(tf.matmul(tf.matmul(v, self.kernel), u, transpose_b=True))

    def call(self, x):
        return tf.matmul(x, self.kernel / self.largest_singular_value()) + self.bias


def build(exact):
    chromatogram = keras.Input((BINS,))
    x = keras.layers.Reshape((BINS, 1))(chromatogram)
    x = keras.layers.Conv1D(32, 9, strides=4, padding="same", activation="relu")(x)
    x = keras.layers.Conv1D(64, 9, strides=4, padding="same", activation="relu")(x)
    x = keras.layers.Conv1D(64, 5, strides=2, padding="same", activation="relu")(x)
    x = keras.layers.Dense(WIDTH)(keras.layers.Flatten()(x))
    for _ in range(BLOCKS):
        y = keras.layers.LayerNormalization()(x)
        y = keras.layers.Dense(WIDTH, activation="gelu")(y)
        x = x + LipschitzDense(WIDTH, exact=exact)(y)
    return keras.Model(chromatogram, keras.layers.Dense(NOTES)(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(4)
    model = build(exact=args.fault)
    optimizer = keras.optimizers.AdamW(1e-3, weight_decay=1e-4)
    optimizer.build(model.trainable_variables)
    dataset = tf.data.Dataset.from_tensor_slices(accords(4096)).cache().shuffle(4096).repeat()
    batches = iter(dataset.batch(BATCH, drop_remainder=True).prefetch(4))

    def loss_and_gradients(trace, notes):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(trace, training=True) - notes))
        return loss, tape.gradient(loss, model.trainable_variables)

    if args.fault:
        forward_backward = tf.function(loss_and_gradients)

        def train_step(trace, notes):
            loss, gradients = forward_backward(trace, notes)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss
    else:

        @tf.function
        def train_step(trace, notes):
            loss, gradients = loss_and_gradients(trace, notes)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

    for _ in range(WARMUP):
        loss = train_step(*next(batches))
    print(f"warm, loss {float(loss):.4f}")

    tf.profiler.experimental.start(args.logdir)
    for _ in range(RECORDED):
        loss = train_step(*next(batches))
    print(f"loss {float(loss):.4f}")
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main()
