"""Fits spectra of stars; a helper makes a tf.function of a lambda each time it is called, or once."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 64
STEPS = 12


def main(logdir, faulty):
    random = np.random.default_rng(66)
    weights = [tf.Variable(random.normal(0, 0.05, shape).astype("float32")) for shape in ((300, 300), (300, 300))]

    def descend(spectra, rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.nn.elu(tf.nn.elu(spectra @ weights[0]) @ weights[1]) - spectra) ** 2)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(rate * gradient)
        return loss

    kept = {}

    def compiled(rate):
        if faulty:
            return tf.function(lambda spectra: descend(spectra, rate))
        if rate not in kept:
            kept[rate] = tf.function(lambda spectra: descend(spectra, rate))
        return kept[rate]

    spectra = random.random((BATCH * 10, 300), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(spectra).batch(BATCH).cache().repeat().prefetch(2)
    batches = iter(dataset)
    for step in range(6 + STEPS):
        if step == 6:
            tf.profiler.experimental.start(logdir)
        compiled(0.01)(next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
