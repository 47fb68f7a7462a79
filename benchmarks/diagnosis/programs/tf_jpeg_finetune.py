"""Trains the head and the last convolution of an image classifier on JPEG files, with Keras fit over several epochs."""

import sys

import numpy as np
import tensorflow as tf

PHOTOS = 128
BATCH = 32
STEPS = 12


def decode(jpeg, label):
    photo = tf.io.decode_jpeg(jpeg, channels=3)
    return tf.image.resize(tf.cast(photo, tf.float32) / 255, [64, 64]), label


def main(logdir, faulty):
    frozen = tf.keras.layers.Conv2D(24, 3, strides=2, activation="relu", trainable=False)
    model = tf.keras.Sequential(
        [
            tf.keras.Input([64, 64, 3]),
            frozen,
            tf.keras.layers.Conv2D(48, 3, strides=2, activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(10),
        ]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, jit_compile=False)

    random = np.random.default_rng(10)
    coarse = random.integers(0, 256, (PHOTOS, 40, 30, 3)).astype("uint8")
    photos = [tf.io.encode_jpeg(np.kron(one, np.ones((16, 16, 1), np.uint8)), quality=90).numpy() for one in coarse]
    dataset = tf.data.Dataset.from_tensor_slices((photos, random.integers(0, 10, PHOTOS)))
    dataset = dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    if not faulty:
        dataset = dataset.cache()
    dataset = dataset.shuffle(64).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)

    model.fit(dataset, steps_per_epoch=6, verbose=0)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(9, 8 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=11 + STEPS, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
