"""Trains a small convolutional network on photos that are cropped and augmented at random, batch by batch."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 48
STEPS = 16


def augment(photos, labels):
    photos = tf.image.random_brightness(photos, 0.2)
    photos = tf.image.random_contrast(photos, 0.7, 1.3)
    photos = tf.image.random_hue(photos, 0.1)
    photos += tf.random.normal(tf.shape(photos), stddev=0.02)
    photos = tf.image.random_crop(photos, [BATCH, 48, 48, 3])
    return tf.image.random_flip_left_right(photos), labels


def main(logdir, faulty):
    tf.config.threading.set_intra_op_parallelism_threads(1)
    model = tf.keras.Sequential(
        [
            tf.keras.Input([48, 48, 3]),
            tf.keras.layers.Conv2D(32, 5, strides=2, activation="relu"),
            tf.keras.layers.Conv2D(48, 3, activation="relu"),
            tf.keras.layers.Conv2D(48, 3, strides=2, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(5),
        ]
    )
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(photos, labels):
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(photos, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    random = np.random.default_rng(0)
    photos = random.random((BATCH * 8, 84, 84, 3), np.float32)
    labels = random.integers(0, 5, BATCH * 8)
    dataset = tf.data.Dataset.from_tensor_slices((photos, labels)).batch(BATCH, drop_remainder=True).cache().repeat()
    dataset = dataset.map(augment) if faulty else dataset.map(augment, num_parallel_calls=2)
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    batches = iter(dataset.with_options(options))

    for _ in range(10):
        train_step(*next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
