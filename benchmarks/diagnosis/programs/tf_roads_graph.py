"""Forecasts traffic on a graph of roads; neighbours are summed junction by junction in a while loop, or by segments."""

import sys

import numpy as np
import tensorflow as tf

JUNCTIONS, ROADS, WIDTH = 120, 480, 48
STEPS = 12


def main(logdir, faulty):
    random = np.random.default_rng(50)
    where_to = np.sort(random.integers(0, JUNCTIONS, ROADS)).astype("int32")
    where_from = tf.constant(random.integers(0, JUNCTIONS, ROADS), tf.int32)
    firsts = tf.constant(np.searchsorted(where_to, np.arange(JUNCTIONS + 1)), tf.int32)
    ends = tf.constant(where_to)
    weights = [tf.Variable(random.normal(0, 0.1, (WIDTH, WIDTH)).astype("float32")) for _ in range(2)]

    def neighbours(states):
        coming = tf.gather(states, where_from)
        if not faulty:
            return tf.math.segment_sum(coming, ends)
        sums = tf.TensorArray(tf.float32, JUNCTIONS)
        for junction in tf.range(JUNCTIONS):
            mine = coming[firsts[junction] : firsts[junction + 1]]
            sums = sums.write(junction, tf.reduce_sum(mine, axis=0))
        return sums.stack()

    @tf.function
    def train_step(states, flow):
        with tf.GradientTape() as tape:
            for weight in weights:
                summed = tf.reshape(neighbours(states), [-1, WIDTH])[:JUNCTIONS]
                summed = tf.pad(summed, [[0, JUNCTIONS - tf.shape(summed)[0]], [0, 0]])
                states = tf.nn.tanh((states + summed) @ weight)
            loss = tf.reduce_mean((tf.reduce_sum(states, axis=1) - flow) ** 2)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.01 * gradient)
        return loss

    hours = random.random((40, JUNCTIONS, WIDTH), np.float32)
    flows = random.random((40, JUNCTIONS), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((hours, flows)).repeat().prefetch(4)
    iterator = iter(dataset)
    for _ in range(6):
        states, flow = next(iterator)
        train_step(states, flow)
    tf.profiler.experimental.start(logdir)
    for _ in range(STEPS):
        states, flow = next(iterator)
        train_step(states, flow)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
