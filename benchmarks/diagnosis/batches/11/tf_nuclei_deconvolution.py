"""Self-supervised deconvolution of fluorescence micrographs: the network's estimate, blurred by the microscope's
point spread function, has to explain the photon counts."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

SIDE, DYES, BATCH, SIGMA, RADIUS = 96, 2, 6, 4.2, 13


def make_micrographs(count=120):
    rng = np.random.default_rng(14)
    yy, xx = np.mgrid[:SIDE, :SIDE]
    plates = np.full((count, SIDE, SIDE, DYES), 2.0, np.float32)
    for plate in plates:
        for _ in range(12):
            y, x, r = rng.uniform(8, SIDE - 8), rng.uniform(8, SIDE - 8), rng.uniform(4, 9)
            plate[..., rng.integers(DYES)] += 40 * np.exp(-((yy - y) ** 2 + (xx - x) ** 2) / (2 * r * r))
    return rng.poisson(plates).astype(np.float32)


class GaussianOptics(layers.Layer):
    """The microscope's point spread function for each dye."""

    def __init__(self, sigma, radius, fault):
        super().__init__(trainable=False)
        taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
        taps = (taps / taps.sum()).astype(np.float32)
        if fault:
            kernels = [np.outer(taps, taps)]
        else:
            kernels = [taps[:, None], taps[None, :]]
        self.kernels = [tf.constant(np.repeat(k[:, :, None, None], DYES, axis=2)) for k in kernels]

    def call(self, photons):
        for kernel in self.kernels:
            photons = tf.nn.depthwise_conv2d(photons, kernel, strides=(1, 1, 1, 1), padding="SAME")
        return photons


def make_network():
    def double(x, width):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        return x

    inputs = keras.Input((SIDE, SIDE, DYES))
    x = layers.Lambda(lambda counts: tf.sqrt(counts + 0.375))(inputs)
    top = double(x, 24)
    middle = double(layers.MaxPooling2D()(top), 48)
    bottom = double(layers.MaxPooling2D()(middle), 96)
    x = layers.Concatenate()([layers.Conv2DTranspose(48, 2, strides=2)(bottom), middle])
    x = layers.Concatenate()([layers.Conv2DTranspose(24, 2, strides=2)(double(x, 48)), top])
    return keras.Model(inputs, layers.Conv2D(DYES, 1, activation="softplus")(double(x, 24)))


def total_variation(x):
    return tf.reduce_mean(tf.abs(x[:, 1:] - x[:, :-1])) + tf.reduce_mean(tf.abs(x[:, :, 1:] - x[:, :, :-1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    if args.fault:
        tf.debugging.enable_check_numerics()
    keras.utils.set_random_seed(2)

    network, optics = make_network(), GaussianOptics(SIGMA, RADIUS, args.fault)
    optimizer = keras.optimizers.Adam(5e-4)

    @tf.function
    def train_step(counts):
        with tf.GradientTape() as tape:
            estimate = network(counts, training=True)
            expected = optics(estimate) + 0.5
            likelihood = tf.reduce_mean(expected - counts * tf.math.log(expected))
            loss = likelihood + 1e-3 * total_variation(estimate)
        variables = network.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    dataset = (
        tf.data.Dataset.from_tensor_slices(make_micrographs())
        .shuffle(120, seed=6)
        .repeat()
        .map(tf.image.random_flip_left_right, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    losses = []
    for step, counts in enumerate(dataset.take(16)):
        if step == 6:
            tf.profiler.experimental.start(args.logdir)
        losses.append(train_step(counts))
    tf.stack(losses).numpy()
    tf.profiler.experimental.stop()
    print(f"loss {float(losses[0]):.3f} -> {float(losses[-1]):.3f}")


if __name__ == "__main__":
    main()
