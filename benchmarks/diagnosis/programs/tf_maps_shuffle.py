"""Trains a land-cover classifier on tiles of maps that are shuffled anew for each short epoch."""

import sys

import numpy as np
import tensorflow as tf

TILES = 1024
BATCH = 128
STEPS = 24


def main(logdir, faulty):
    tf.config.threading.set_intra_op_parallelism_threads(1)
    random = np.random.default_rng(12)
    weights = [tf.Variable(random.normal(0, 0.05, shape).astype("float32")) for shape in ((3072, 1024), (1024, 8))]

    def tile(number):
        """A tile of the map that its number stands for."""
        noise = tf.random.stateless_normal([32, 32, 3], [number, 1])
        noise = tf.tanh(noise)
        return tf.reshape(noise, [3072]), number % 8

    @tf.function
    def train_step(tiles, cover):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tiles @ weights[0])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(cover, hidden @ weights[1]))
        for variable, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            variable.assign_sub(0.01 * gradient)
        return loss

    dataset = tf.data.Dataset.range(TILES).map(tile).shuffle(TILES if faulty else 96)
    batches = iter(dataset.batch(BATCH, drop_remainder=True).repeat().prefetch(2))

    for _ in range(10):
        train_step(*next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
