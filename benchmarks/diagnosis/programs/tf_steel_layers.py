"""Finds flaws in steel with a residual network; each layer is a tf.function of its own, or the whole step is one."""

import sys

import numpy as np
import tensorflow as tf

BATCH, WIDTH, LAYERS = 64, 96, 20
STEPS = 14


class Block(tf.Module):
    """One residual layer."""

    def __init__(self, start):
        super().__init__()
        self.scale = tf.Variable(tf.ones([WIDTH]))
        self.inner = tf.Variable(start.normal([WIDTH, WIDTH], stddev=0.05))

    def __call__(self, rows):
        mean, variance = tf.nn.moments(rows, [1], keepdims=True)
        return rows + tf.nn.gelu((rows - mean) * tf.math.rsqrt(variance + 1e-5) * self.scale @ self.inner)


def main(logdir, faulty):
    start = tf.random.Generator.from_seed(11)
    blocks = [Block(start) for _ in range(LAYERS)]
    head = tf.Variable(start.normal([WIDTH, 2], stddev=0.1))
    variables = [head] + [one for block in blocks for one in block.trainable_variables]
    layers = [tf.function(block) if faulty else block for block in blocks]

    def train(rows, flaw):
        with tf.GradientTape() as tape:
            for layer in layers:
                rows = layer(rows)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(flaw, rows @ head))
        return loss, tape.gradient(loss, variables)

    @tf.function
    def update(gradients):
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(0.01 * gradient)

    def train_and_update(rows, flaw):
        loss, gradients = train(rows, flaw)
        update(gradients)
        return loss

    step = train_and_update if faulty else tf.function(train_and_update)
    random = np.random.default_rng(49)
    rows, flaws = random.random((BATCH * 10, WIDTH), np.float32), random.integers(0, 2, BATCH * 10)
    dataset = tf.data.Dataset.from_tensor_slices((rows, flaws)).shuffle(200).repeat().batch(BATCH).prefetch(4)
    for number, (some, labels) in enumerate(dataset):
        if number == 6:
            tf.profiler.experimental.start(logdir)
        if number == 6 + STEPS:
            tf.profiler.experimental.stop()
            break
        step(some, labels)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
