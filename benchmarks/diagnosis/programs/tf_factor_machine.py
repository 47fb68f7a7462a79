"""Trains a factorization machine; the products of all pairs of fields come from a Python loop or from one formula."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 256
FIELDS, FACTORS = 24, 8
STEPS = 12


def pairs_by_loop(factors):
    total = 0.0
    for one in range(FIELDS):
        for other in range(one + 1, FIELDS):
            total += tf.reduce_sum(factors[:, one] * factors[:, other], axis=1)
    return total


def pairs_by_formula(factors):
    square_of_sum = tf.reduce_sum(factors, axis=1) ** 2
    return 0.5 * tf.reduce_sum(square_of_sum - tf.reduce_sum(factors**2, axis=1), axis=1)


def main(logdir, faulty):
    random = np.random.default_rng(21)
    table = tf.Variable(random.normal(0, 0.1, (FIELDS * 400, FACTORS)).astype("float32"))
    deep = tf.Variable(random.normal(0, 0.1, (FIELDS * FACTORS, 1024)).astype("float32"))
    top = tf.Variable(random.normal(0, 0.1, (1024, 1)).astype("float32"))
    variables = [table, deep, top]
    pairs = pairs_by_loop if faulty else pairs_by_formula

    @tf.function
    def train_step(fields, bought):
        with tf.GradientTape() as tape:
            factors = tf.gather(table, fields)
            flat = tf.reshape(factors, [BATCH, FIELDS * FACTORS])
            logits = pairs(factors) + (tf.nn.relu(flat @ deep) @ top)[:, 0]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(bought, logits))
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * tf.convert_to_tensor(gradient))
        return loss

    fields = random.integers(0, 400, (BATCH * 10, FIELDS)) + 400 * np.arange(FIELDS)
    bought = random.integers(0, 2, BATCH * 10).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((fields, bought)).batch(BATCH, drop_remainder=True)
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
