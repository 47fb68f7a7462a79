"""Names mushrooms with Keras fit; photos are changed at random by ImageDataGenerator, or by a map of tf.data."""

import sys

import numpy as np
import tensorflow as tf

BATCH, SIDE = 64, 64
STEPS = 16


def changed(photos, kinds):
    photos = tf.image.random_flip_left_right(tf.cast(photos, tf.float32))
    photos += tf.random.uniform([tf.shape(photos)[0], 1, 1, 1], -30, 30)
    return tf.image.per_image_standardization(photos), kinds


def main(logdir, faulty):
    random = np.random.default_rng(71)
    photos = random.integers(0, 256, (BATCH * 36, SIDE, SIDE, 3), np.uint8)
    kinds = random.integers(0, 12, BATCH * 36)
    if faulty:
        generator = tf.keras.preprocessing.image.ImageDataGenerator(
            samplewise_center=True, samplewise_std_normalization=True, horizontal_flip=True, channel_shift_range=30
        )
        batches = generator.flow(photos, kinds, batch_size=BATCH)
    else:
        batches = tf.data.Dataset.from_tensor_slices((photos, kinds)).shuffle(BATCH * 36).batch(BATCH)
        batches = batches.map(changed, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)

    model = tf.keras.Sequential(
        [
            tf.keras.Input([SIDE, SIDE, 3]),
            tf.keras.layers.Conv2D(16, 8, strides=4, activation="relu"),
            tf.keras.layers.Conv2D(24, 3, strides=2, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(12),
        ]
    )
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(13, 12 + STEPS), write_graph=False)
    model.fit(batches, epochs=1, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
