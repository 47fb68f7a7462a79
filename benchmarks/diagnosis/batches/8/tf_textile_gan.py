"""DCGAN with a few residual blocks on woven textile swatches."""

import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SIDE = 32
NOISE = 64
BATCH = 32
WARMUP = 6
RECORDED = 10


def swatches(count):
    rng = np.random.default_rng(9)
    axis = np.arange(SIDE, dtype=np.float32)
    fx, fy = rng.uniform(0.2, 1.4, (2, count, 1, 1, 3)).astype(np.float32)
    phase = rng.uniform(0, 6.28, (count, 1, 1, 3)).astype(np.float32)
    weave = np.sin(fx * axis[None, None, :, None] + phase) * np.sin(fy * axis[None, :, None, None])
    return weave.astype(np.float32)


def norm_conv(x, width, norm):
    y = layers.Conv2D(width, 3, padding="same", use_bias=not norm)(x)
    if norm:
        y = layers.BatchNormalization(momentum=0.8)(y)
    return layers.LeakyReLU(0.2)(y)


def block(x, width, norm):
    y = norm_conv(norm_conv(x, width, norm), width, norm)
    return layers.add([x, y])


def build_generator():
    z = keras.Input((NOISE,))
    x = layers.Dense(8 * 8 * 48, activation="relu")(z)
    x = layers.Reshape((8, 8, 48))(x)
    for width in (48, 32):
        x = block(x, x.shape[-1], norm=True)
        x = layers.Conv2DTranspose(width, 4, 2, "same", activation="relu")(x)
    x = block(x, 32, norm=True)
    return keras.Model(z, layers.Conv2D(3, 3, padding="same", activation="tanh")(x), name="generator")


def build_discriminator():
    image = keras.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(32, 4, 2, "same")(image)
    for width in (48, 64):
        x = block(layers.LeakyReLU(0.2)(x), x.shape[-1], norm=False)
        x = layers.Conv2D(width, 4, 2, "same")(x)
    x = block(layers.LeakyReLU(0.2)(x), 64, norm=False)
    return keras.Model(image, layers.Dense(1)(layers.Flatten()(x)), name="discriminator")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(7)
    generator, discriminator = build_generator(), build_discriminator()
    g_opt = keras.optimizers.Adam(2e-4, beta_1=0.5)
    d_opt = keras.optimizers.Adam(2e-4, beta_1=0.5)
    bce = keras.losses.BinaryCrossentropy(from_logits=True)
    dataset = (
        tf.data.Dataset.from_tensor_slices(swatches(1024))
        .shuffle(1024)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .prefetch(2)
    )
    if args.fault:
        generate, judge = tf.function(generator), tf.function(discriminator)
    else:
        generate, judge = generator, discriminator

    def train_step(real):
        noise = tf.random.normal([BATCH, NOISE])
        with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
            fake = generate(noise, training=True)
            real_score = judge(real, training=True)
            fake_score = judge(fake, training=True)
            g_loss = bce(tf.ones_like(fake_score), fake_score)
            d_loss = bce(0.9 * tf.ones_like(real_score), real_score) + bce(tf.zeros_like(fake_score), fake_score)
        g_grads = g_tape.gradient(g_loss, generator.trainable_variables)
        d_grads = d_tape.gradient(d_loss, discriminator.trainable_variables)
        g_opt.apply_gradients(zip(g_grads, generator.trainable_variables))
        d_opt.apply_gradients(zip(d_grads, discriminator.trainable_variables))
        return g_loss, d_loss

    if not args.fault:
        train_step = tf.function(train_step)

    batches = iter(dataset)
    for _ in range(WARMUP):
        g_loss, d_loss = train_step(next(batches))
    with tf.profiler.experimental.Profile(args.logdir):
        for step in range(RECORDED):
            with tf.profiler.experimental.Trace("gan", step_num=step, _r=1):
                g_loss, d_loss = train_step(next(batches))
    print(f"generator {float(g_loss):.3f}  discriminator {float(d_loss):.3f}")


if __name__ == "__main__":
    main()
