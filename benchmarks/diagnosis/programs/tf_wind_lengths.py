"""Predicts the power of wind farms from records of different length, cut to one length or taken as they are."""

import sys

import numpy as np
import tensorflow as tf

BATCH, SENSORS = 48, 32
LONGEST = 160
STEPS = 12


def main(logdir, faulty):
    random = np.random.default_rng(33)
    kernel = tf.Variable(random.normal(0, 0.05, (7, SENSORS, 128)).astype("float32"))
    output = tf.Variable(random.normal(0, 0.05, (128, 1)).astype("float32"))

    @tf.function
    def train_step(records, power):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.nn.conv1d(records, kernel, 1, "SAME"))
            loss = tf.reduce_mean(((tf.reduce_mean(hidden, axis=1) @ output)[:, 0] - power) ** 2)
        of_kernel, of_output = tape.gradient(loss, [kernel, output])
        kernel.assign_sub(0.01 * of_kernel)
        output.assign_sub(0.01 * of_output)
        return loss

    lengths = random.permutation(np.arange(100, LONGEST))
    everything = random.random((BATCH, LONGEST, SENSORS), np.float32)
    power = tf.constant(random.random(BATCH, np.float32))

    def records(number):
        return tf.constant(everything[:, : lengths[number]] if faulty else everything)

    for number in range(4):
        train_step(records(number), power)
    with tf.profiler.experimental.Profile(logdir):
        for number in range(4, 4 + STEPS):
            with tf.profiler.experimental.Trace("wind", step_num=number, _r=1):
                train_step(records(number), power)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
