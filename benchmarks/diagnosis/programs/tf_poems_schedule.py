"""Trains a model of letters with a learning rate that decays each step, as a Python number or as a tensor."""

import sys

import numpy as np
import tensorflow as tf

BATCH, LENGTH, LETTERS = 64, 32, 64
STEPS = 12


def main(logdir, faulty):
    random = np.random.default_rng(17)
    table = tf.Variable(random.normal(0, 0.1, (LETTERS, 96)).astype("float32"))
    inner = tf.Variable(random.normal(0, 0.05, (96 * 4, 512)).astype("float32"))
    outer = tf.Variable(random.normal(0, 0.05, (512, LETTERS)).astype("float32"))
    variables = [table, inner, outer]

    @tf.function
    def train_step(letters, rate):
        with tf.GradientTape() as tape:
            vectors = tf.gather(table, letters)
            before = [vectors[:, start : LENGTH - 4 + start] for start in range(4)]
            logits = tf.nn.relu(tf.concat(before, axis=2) @ inner) @ outer
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(letters[:, 4:], logits)
            loss = tf.reduce_mean(losses)
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(rate * tf.convert_to_tensor(gradient))
        return loss

    dataset = tf.data.Dataset.from_tensor_slices(random.integers(0, LETTERS, (BATCH * 10, LENGTH)))
    batches = iter(dataset.batch(BATCH).cache().repeat().prefetch(2))

    def rate(number):
        decayed = 0.1 * 0.99**number
        return decayed if faulty else tf.constant(decayed)

    for number in range(5):
        train_step(next(batches), rate(number))
    tf.profiler.experimental.start(logdir)
    for number in range(5, 5 + STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(next(batches), rate(number))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
