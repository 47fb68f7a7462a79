"""Trains the critic of a GAN of prints; each layer's largest singular value is from an SVD, or from power iteration."""

import sys

import numpy as np
import tensorflow as tf

BATCH, PIXELS, WIDTH = 384, 256, 160
STEPS = 14


class Normalized(tf.Module):
    """A linear layer with spectral normalisation."""

    def __init__(self, rows, columns, exact):
        super().__init__()
        self.exact = exact
        self.weight = tf.Variable(tf.random.normal([rows, columns], stddev=0.1, seed=1))
        self.left = tf.Variable(tf.random.normal([1, columns], seed=2), trainable=False)

    def largest(self):
        if self.exact:
            return tf.linalg.svd(self.weight, compute_uv=False)[0]
        right = tf.math.l2_normalize(tf.stop_gradient(self.left @ tf.transpose(self.weight)))
        left = tf.math.l2_normalize(tf.stop_gradient(right @ self.weight))
        self.left.assign(left)
        return tf.reduce_sum((right @ self.weight) * left)

    def __call__(self, pictures):
        return pictures @ (self.weight / self.largest())


def main(logdir, faulty):
    layers = [Normalized(rows, WIDTH, faulty) for rows in (PIXELS, WIDTH, WIDTH)]
    judge = tf.Variable(tf.random.normal([WIDTH, 1], stddev=0.1, seed=3))
    variables = [judge, *(layer.weight for layer in layers)]

    def opinion(pictures):
        for layer in layers:
            pictures = tf.nn.leaky_relu(layer(pictures))
        return pictures @ judge

    @tf.function
    def train_critic(real, made):
        with tf.GradientTape() as tape:
            found_real, found_made = tf.split(opinion(tf.concat([real, made], axis=0)), 2)
            loss = tf.reduce_mean(tf.nn.relu(1 - found_real)) + tf.reduce_mean(tf.nn.relu(1 + found_made))
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(2e-4 * gradient)
        return loss

    random = np.random.default_rng(93)
    pictures = random.random((2, BATCH * 8, PIXELS), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(tuple(pictures)).batch(BATCH).cache().repeat().prefetch(2)
    batches = iter(dataset)
    for step in range(6 + STEPS):
        if step == 6:
            tf.profiler.experimental.start(logdir)
        with tf.profiler.experimental.Trace("critic", step_num=step, _r=1):
            train_critic(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
