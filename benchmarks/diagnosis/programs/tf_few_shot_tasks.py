"""Adapts a small network to one task after another; the compiled step is made anew for each task, or once."""

import sys

import numpy as np
import tensorflow as tf

EXAMPLES = 1536
STEPS = 15


def make_adapt(weights, bias):
    @tf.function
    def adapt(inputs, outputs):
        for _ in range(3):
            with tf.GradientTape() as tape:
                hidden = tf.nn.tanh(inputs @ weights + bias)
                loss = tf.reduce_mean((tf.reduce_sum(hidden, axis=1) - outputs) ** 2)
            of_weights, of_bias = tape.gradient(loss, [weights, bias])
            weights.assign_sub(0.001 * of_weights)
            bias.assign_sub(0.001 * of_bias)
        return loss

    return adapt


def main(logdir, faulty):
    random = np.random.default_rng(18)
    weights = tf.Variable(random.normal(0, 0.05, (192, 256)).astype("float32"))
    bias = tf.Variable(tf.zeros([256]))
    adapt = make_adapt(weights, bias)

    def tasks():
        while True:
            yield tf.constant(inputs), tf.constant(outputs)

    inputs, outputs = random.random((EXAMPLES, 192), np.float32), random.random(EXAMPLES, np.float32)
    task = tasks()

    def train(steps):
        for number in range(steps):
            with tf.profiler.experimental.Trace("task", step_num=number, _r=1):
                step = make_adapt(weights, bias) if faulty else adapt
                step(*next(task))

    train(5)
    tf.profiler.experimental.start(logdir)
    train(STEPS)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
