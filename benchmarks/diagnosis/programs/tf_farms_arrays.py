"""Estimates harvests in a custom loop over NumPy arrays, whose batches are cut and scaled in the loop or by tf.data."""

import sys

import numpy as np
import tensorflow as tf

BATCH, FIELDS = 512, 400
STEPS = 16


def scaled(rows):
    """Ranks instead of values, so that outliers do not matter."""
    order = np.argsort(rows, axis=0)
    ranks = np.empty(rows.shape, np.float32)
    np.put_along_axis(ranks, order, np.arange(len(rows), dtype=np.float32)[:, None] / len(rows), axis=0)
    return ranks


def main(logdir, faulty):
    random = np.random.default_rng(35)
    shapes = ((FIELDS, 512), (512, 512), (512, 1))
    weights = [tf.Variable(random.normal(0, 0.05, shape).astype("float32")) for shape in shapes]

    @tf.function
    def train_step(rows, harvest):
        with tf.GradientTape() as tape:
            hidden = rows
            for layer in weights[:-1]:
                hidden = tf.nn.relu(hidden @ layer)
            loss = tf.reduce_mean(((hidden @ weights[-1])[:, 0] - harvest) ** 2)
        for layer, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            layer.assign_sub(0.01 * gradient)
        return loss

    rows, harvest = random.random((BATCH * 6, FIELDS), np.float32), random.random(BATCH * 6, np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((rows, harvest)).batch(BATCH)
    ready = dataset.map(lambda rows, harvest: (tf.numpy_function(scaled, [rows], tf.float32), harvest))
    ready = iter(ready.cache().repeat().prefetch(2))

    def batch(number):
        if not faulty:
            ranks, of_ranks = next(ready)
            return tf.ensure_shape(ranks, [BATCH, FIELDS]), of_ranks
        chosen = slice(number % 6 * BATCH, (number % 6 + 1) * BATCH)
        return tf.constant(scaled(rows[chosen])), tf.constant(harvest[chosen])

    for number in range(8):
        train_step(*batch(number))
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=1)
    tf.profiler.experimental.start(logdir, options=options)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(*batch(number))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
