"""Fits a picture of clouds pixel by pixel; the long chain of elementwise ops is compiled by XLA or runs op after op."""

import sys

import numpy as np
import tensorflow as tf

SIDE = 1200
STEPS = 10


def main(logdir, faulty):
    random = np.random.default_rng(51)
    picture = tf.Variable(random.random((SIDE, SIDE), np.float32))
    first, second = tf.Variable(tf.zeros([SIDE, SIDE])), tf.Variable(tf.zeros([SIDE, SIDE]))

    @tf.function(jit_compile=not faulty)
    def fit_step(clouds, light):
        with tf.GradientTape() as tape:
            seen = picture
            for layer in range(8):
                seen = seen * (1.02 - 0.03 * seen) + 0.01 * light * layer
            loss = tf.reduce_sum(0.5 * (seen - clouds) ** 2 + 0.001 * (picture - 0.5) ** 2)
        gradient = tape.gradient(loss, picture)
        first.assign(0.9 * first + 0.1 * gradient)
        second.assign(0.99 * second + 0.01 * gradient * gradient)
        picture.assign(tf.minimum(tf.maximum(picture - 0.01 * first * tf.math.rsqrt(second + 1e-6), 0.0), 1.0))
        return loss

    clouds, light = (random.random((8, SIDE, SIDE), np.float32) for _ in range(2))
    dataset = tf.data.Dataset.from_tensor_slices((clouds, light)).cache().repeat().prefetch(2)
    batches = iter(dataset)
    for step in range(5 + STEPS):
        if step == 5:
            tf.profiler.experimental.start(logdir)
        with tf.profiler.experimental.Trace("fit", step_num=step, _r=1):
            fit_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
