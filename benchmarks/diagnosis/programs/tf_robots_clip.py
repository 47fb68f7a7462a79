"""Steers robots; gradients come from a tf.function, and are clipped and applied outside of it or inside."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 64
STEPS = 14


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [tf.keras.Input([48]), *(tf.keras.layers.Dense(320, "tanh") for _ in range(5)), tf.keras.layers.Dense(7)]
    )
    optimizer = tf.keras.optimizers.AdamW(1e-3)
    optimizer.build(model.trainable_variables)

    def apply(gradients):
        clipped = [tf.clip_by_norm(gradient, 1.0) for gradient in gradients]
        optimizer.apply_gradients(zip(clipped, model.trainable_variables, strict=True))

    @tf.function
    def train(senses, motion):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(model(senses, training=True) - motion))
        gradients = tape.gradient(loss, model.trainable_variables)
        if not faulty:
            apply(gradients)
        return loss, gradients

    random = np.random.default_rng(65)
    senses, motions = random.random((BATCH * 10, 48), np.float32), random.random((BATCH * 10, 7), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((senses, motions)).shuffle(400).repeat().batch(BATCH).prefetch(4)
    for step, (sensed, motion) in enumerate(dataset):
        if step == 6:
            tf.profiler.experimental.start(logdir)
        if step == 6 + STEPS:
            break
        _, gradients = train(sensed, motion)
        if faulty:
            apply(gradients)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
