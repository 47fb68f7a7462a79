import os
import tempfile
import time

import keras
import numpy as np
import tensorflow as tf

SIZE, BATCH, LAMBDA, REAL_LABEL = 64, 1, 10.0, 0.9


def conv(filters, size, strides=1, activation="relu"):
    return keras.layers.Conv2D(filters, size, strides, padding="same", activation=activation)


def generator(name):
    up = keras.layers.Conv2DTranspose(16, 3, 2, padding="same", activation="relu")
    layers = [conv(16, 7), conv(32, 3, 2), conv(32, 3), conv(32, 3), up, conv(3, 7, 1, "tanh")]
    return keras.Sequential([keras.Input((SIZE, SIZE, 3))] + layers, name=name)


def discriminator(name):
    layers = [conv(16, 4, 2), conv(32, 4, 2), conv(32, 4, 2), conv(1, 4, 1, None)]
    return keras.Sequential([keras.Input((SIZE, SIZE, 3))] + layers, name=name)


class CycleGAN:
    def __init__(self, log_dir):
        self.G, self.F = generator("G"), generator("F")
        self.D_X, self.D_Y = discriminator("D_X"), discriminator("D_Y")
        self.optimizers = [keras.optimizers.Adam(2e-4, 0.5) for _ in range(4)]
        for optimizer, net in zip(self.optimizers, (self.G, self.D_Y, self.F, self.D_X)):
            optimizer.build(net.trainable_variables)
        self.writer = tf.summary.create_file_writer(log_dir)

    def discriminator_loss(self, G, D, x, y):
        error_real = tf.reduce_mean(tf.math.squared_difference(D(y), REAL_LABEL))
        error_fake = tf.reduce_mean(tf.square(D(G(x))))
        return (error_real + error_fake) / 2

    def generator_loss(self, G, D, x):
        return tf.reduce_mean(tf.math.squared_difference(D(G(x)), REAL_LABEL))

    def cycle_consistency_loss(self, x, y):
        forward = tf.reduce_mean(tf.abs(self.F(self.G(x)) - x))
        return LAMBDA * (forward + tf.reduce_mean(tf.abs(self.G(self.F(y)) - y)))

    @tf.function
    def train_step(self, x, y, step):
        with tf.GradientTape(persistent=True) as tape:
            cycle_loss = self.cycle_consistency_loss(x, y)
            G_loss = self.generator_loss(self.G, self.D_Y, x) + cycle_loss
            F_loss = self.generator_loss(self.F, self.D_X, y) + cycle_loss
            D_Y_loss = self.discriminator_loss(self.G, self.D_Y, x, y)
            D_X_loss = self.discriminator_loss(self.F, self.D_X, y, x)
        losses, nets = (G_loss, D_Y_loss, F_loss, D_X_loss), (self.G, self.D_Y, self.F, self.D_X)
        with self.writer.as_default(step=step):
            for name, value in (("true", self.D_Y(y)), ("fake", self.D_Y(self.G(x)))):
                tf.summary.histogram("D_Y/" + name, value)
            for name, value in (("true", self.D_X(x)), ("fake", self.D_X(self.F(y)))):
                tf.summary.histogram("D_X/" + name, value)
            tf.summary.image("X/reconstruction", self.F(self.G(x)) / 2 + 0.5, max_outputs=1)
            tf.summary.image("Y/reconstruction", self.G(self.F(y)) / 2 + 0.5, max_outputs=1)
        for loss, net, optimizer in zip(losses, nets, self.optimizers):
            optimizer.apply(tape.gradient(loss, net.trainable_variables), net.trainable_variables)
        return losses


keras.utils.set_random_seed(0)
rng, gan, start = np.random.default_rng(0), CycleGAN(tempfile.mkdtemp()), time.time()
apples, oranges = rng.uniform(-1, 1, (2, 40, SIZE, SIZE, 3)).astype("float32") * [[[[[1, 0.3, 0.3]]]], [[[[1, 0.7, 0.1]]]]]
for step in range(1, int(os.environ.get("STEPS", 80)) + 1):
    x, y = (tf.constant(a[rng.integers(40, size=BATCH)], tf.float32) for a in (apples, oranges))
    losses = gan.train_step(x, y, tf.constant(step, tf.int64))
    if step % 10 == 0:
        print(f"step {step}, {time.time() - start:.1f} s, losses", " ".join(f"{v:.3f}" for v in losses), flush=True)
