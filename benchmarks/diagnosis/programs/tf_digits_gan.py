"""Trains a generator and a discriminator of digits against each other, compiled or op by op."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 64
NOISE = 32
STEPS = 10


def network(inputs, widths, outputs):
    layers = [tf.keras.layers.Dense(width, activation="leaky_relu") for width in widths]
    return tf.keras.Sequential([tf.keras.Input([inputs]), *layers, tf.keras.layers.Dense(outputs)])


def main(logdir, faulty):
    generator, discriminator = network(NOISE, [128, 256], 784), network(784, [256, 128], 1)
    of_generator, of_discriminator = tf.keras.optimizers.Adam(2e-4), tf.keras.optimizers.Adam(2e-4)
    of_generator.build(generator.trainable_variables)
    of_discriminator.build(discriminator.trainable_variables)
    is_real = tf.nn.sigmoid_cross_entropy_with_logits

    def train_step(digits):
        noise = tf.random.normal([BATCH, NOISE])
        with tf.GradientTape() as first, tf.GradientTape() as second:
            made = tf.sigmoid(generator(noise, training=True))
            real, fake = discriminator(digits, training=True), discriminator(made, training=True)
            fooling = tf.reduce_mean(is_real(tf.ones_like(fake), fake))
            telling = tf.reduce_mean(is_real(tf.ones_like(real), real) + is_real(tf.zeros_like(fake), fake))
        gradients = first.gradient(fooling, generator.trainable_variables)
        of_generator.apply_gradients(zip(gradients, generator.trainable_variables, strict=True))
        gradients = second.gradient(telling, discriminator.trainable_variables)
        of_discriminator.apply_gradients(zip(gradients, discriminator.trainable_variables, strict=True))
        return fooling, telling

    if not faulty:
        train_step = tf.function(train_step)
    digits = np.random.default_rng(19).random((BATCH * 8, 784), np.float32)
    batches = iter(tf.data.Dataset.from_tensor_slices(digits).batch(BATCH).cache().repeat().prefetch(2))
    for _ in range(10):
        train_step(next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("duel", step_num=number, _r=1):
            train_step(next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
