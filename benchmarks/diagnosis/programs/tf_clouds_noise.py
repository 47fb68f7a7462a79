"""Cleans pictures of clouds of noise; long chains of elementwise ops are compiled by XLA or run one after the other."""

import sys

import numpy as np
import tensorflow as tf

BATCH, SIDE = 24, 160
STEPS = 10


def main(logdir, faulty):
    random = np.random.default_rng(51)
    gains = tf.Variable(random.normal(1, 0.1, (8, 1, SIDE, SIDE)).astype("float32"))
    shifts = tf.Variable(random.normal(0, 0.1, (8, 1, SIDE, SIDE)).astype("float32"))

    @tf.function(jit_compile=not faulty)
    def denoise_step(clouds, noise, level):
        level = level[:, None, None]
        noisy = tf.sqrt(1 - level) * clouds + tf.sqrt(level) * noise
        with tf.GradientTape() as tape:
            guess = noisy
            for layer in range(8):
                hidden = guess * gains[layer] + shifts[layer]
                guess = hidden * tf.sigmoid(1.7 * hidden) + 0.1 * noisy
            loss = tf.reduce_mean((guess - noise) ** 2)
        by_gains, by_shifts = tape.gradient(loss, [gains, shifts])
        gains.assign_sub(0.1 * by_gains)
        shifts.assign_sub(0.1 * by_shifts)
        return loss

    clouds = random.random((BATCH * 4, SIDE, SIDE), np.float32)
    noise = random.normal(0, 1, (BATCH * 4, SIDE, SIDE)).astype("float32")
    level = random.random(BATCH * 4, np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((clouds, noise, level)).batch(BATCH).cache().repeat().prefetch(2)
    for step, batch in enumerate(dataset.take(5 + STEPS)):
        if step == 5:
            tf.profiler.experimental.start(logdir)
        with tf.profiler.experimental.Trace("denoise", step_num=step, _r=1):
            denoise_step(*batch)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
