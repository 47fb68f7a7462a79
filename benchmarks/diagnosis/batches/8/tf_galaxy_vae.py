"""Convolutional VAE on galaxy cut-outs, with a slowly rising weight on the KL term."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SIDE = 64
LATENT = 24
BATCH = 48
START, STOP = 8, 20


def galaxies(count):
    rng = np.random.default_rng(42)
    axis = np.linspace(-1, 1, SIDE, dtype=np.float32)
    yy, xx = np.meshgrid(axis, axis, indexing="ij")
    angle = rng.uniform(0, np.pi, (count, 1, 1)).astype(np.float32)
    ratio = rng.uniform(0.3, 1.0, (count, 1, 1)).astype(np.float32)
    size = rng.uniform(0.1, 0.4, (count, 1, 1)).astype(np.float32)
    u = xx * np.cos(angle) + yy * np.sin(angle)
    v = (-xx * np.sin(angle) + yy * np.cos(angle)) / ratio
    image = np.exp(-np.sqrt(u**2 + v**2) / size)
    image += 0.02 * rng.standard_normal(image.shape, dtype=np.float32)
    return np.clip(image, 0, 1)[..., None].astype(np.float32)


class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential(
            [
                keras.Input((SIDE, SIDE, 1)),
                layers.Conv2D(32, 4, 2, "same", activation="relu"),
                layers.Conv2D(48, 4, 2, "same", activation="relu"),
                layers.Conv2D(64, 4, 2, "same", activation="relu"),
                layers.Flatten(),
                layers.Dense(256, activation="relu"),
                layers.Dense(2 * LATENT),
            ]
        )
        self.decoder = keras.Sequential(
            [
                keras.Input((LATENT,)),
                layers.Dense(8 * 8 * 64, activation="relu"),
                layers.Reshape((8, 8, 64)),
                layers.Conv2DTranspose(48, 4, 2, "same", activation="relu"),
                layers.Conv2DTranspose(32, 4, 2, "same", activation="relu"),
                layers.Conv2DTranspose(1, 4, 2, "same"),
            ]
        )

    def call(self, images, training=False):
        mean, logvar = tf.split(self.encoder(images, training=training), 2, axis=-1)
        z = mean + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mean))
        return self.decoder(z, training=training), mean, logvar


def main(logdir):
    tf.random.set_seed(0)
    images = galaxies(1200)
    dataset = (
        tf.data.Dataset.from_tensor_slices(images)
        .shuffle(1200)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(tf.image.random_flip_left_right, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )
    model = VAE()
    optimizer = keras.optimizers.Adam(1e-3)

    @tf.function
    def train_step(images, beta):
        with tf.GradientTape() as tape:
            logits, mean, logvar = model(images, training=True)
            pixels = tf.nn.sigmoid_cross_entropy_with_logits(labels=images, logits=logits)
            reconstruction = tf.reduce_mean(tf.reduce_sum(pixels, axis=(1, 2, 3)))
            kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + logvar - mean**2 - tf.exp(logvar), axis=1))
            loss = reconstruction + beta * kl
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return reconstruction, kl

    for step, batch in enumerate(dataset):
        if step == START:
            tf.profiler.experimental.start(logdir)
        if step == STOP:
            tf.profiler.experimental.stop()
            break
        beta = tf.constant(min(1.0, step / 200), tf.float32)
        reconstruction, kl = train_step(batch, beta)
    print(f"reconstruction {float(reconstruction):.1f}  kl {float(kl):.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
