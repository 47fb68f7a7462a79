"""Scores short paths through a tree of topics, one path after another with map_fn or all at once."""

import sys

import numpy as np
import tensorflow as tf

BATCH, DEPTH = 256, 6
WIDTH = 128
STEPS = 12


def main(logdir, faulty):
    random = np.random.default_rng(22)
    nodes = tf.Variable(random.normal(0, 0.1, (2**12, WIDTH)).astype("float32"))
    inner = tf.Variable(random.normal(0, 0.1, (WIDTH, WIDTH)).astype("float32"))

    def score_of(path):
        """Of one path."""
        steps = tf.nn.tanh(tf.gather(nodes, path) @ inner)
        return tf.reduce_sum(tf.reduce_max(steps, axis=0))

    def scores_of(paths):
        """Of all paths."""
        if faulty:
            return tf.map_fn(score_of, paths, fn_output_signature=tf.float32)
        steps = tf.nn.tanh(tf.gather(nodes, paths) @ inner)
        return tf.reduce_sum(tf.reduce_max(steps, axis=1), axis=1)

    @tf.function
    def train_step(paths, right):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(right, scores_of(paths)))
        of_nodes, of_inner = tape.gradient(loss, [nodes, inner])
        nodes.assign_sub(0.05 * tf.convert_to_tensor(of_nodes))
        inner.assign_sub(0.05 * of_inner)
        return loss

    paths = random.integers(0, 2**12, (BATCH * 8, DEPTH))
    right = random.integers(0, 2, BATCH * 8).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((paths, right)).batch(BATCH, drop_remainder=True)
    batches = iter(dataset.cache().repeat().prefetch(2))
    for _ in range(8):
        train_step(*next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
