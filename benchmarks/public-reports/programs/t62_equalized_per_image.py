import os
from functools import partial

import keras
import numpy as np
import tensorflow as tf


def equalize_image(image, data_format="channels_last"):
    @tf.function
    def scale_channel(image, channel):
        dtype = image.dtype
        if data_format == "channels_last":
            image = tf.cast(image[:, :, channel], tf.int32)
        else:
            image = tf.cast(image[channel], tf.int32)
        histo = tf.histogram_fixed_width(image, [0, 255], nbins=256)
        nonzero = tf.reshape(tf.gather(histo, tf.where(tf.not_equal(histo, 0))), [-1])
        step = (tf.reduce_sum(nonzero) - nonzero[-1]) // 255

        def build_lut(histo, step):
            lut = (tf.cumsum(histo) + (step // 2)) // step
            lut = tf.concat([[0], lut[:-1]], 0)
            return tf.clip_by_value(lut, 0, 255)

        result = tf.cond(
            tf.equal(step, 0), lambda: image, lambda: tf.gather(build_lut(histo, step), image)
        )
        return tf.cast(result, dtype)

    axis = -1 if data_format == "channels_last" else 0
    return tf.stack([scale_channel(image, c) for c in range(3)], axis)


def load(count, size):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, count)
    images = rng.normal(90, 25, size=(count, size, size, 3)) + 30 * labels[:, None, None, None] * rng.random((1, size, size, 1))
    return np.clip(images, 0, 255).astype("uint8"), labels


def make_model(size):
    model = keras.Sequential(
        [
            keras.layers.Input((size, size, 3)),
            keras.layers.Rescaling(1 / 255.0),
            keras.layers.Conv2D(24, 3, 2, activation="relu"),
            keras.layers.Conv2D(48, 3, 2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(4),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    return model


def train(steps, batch=4, size=96):
    keras.utils.set_random_seed(0)
    images, labels = load(200, size)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(200, seed=0).repeat()
    equalize = partial(equalize_image, data_format="channels_last")
    model = make_model(size)
    pictures, classes = [], []
    for image, label in dataset.take(steps * batch):
        pictures.append(equalize(image))
        classes.append(label)
        if len(pictures) == batch:
            loss = model.train_on_batch(tf.stack(pictures), tf.stack(classes))
            pictures, classes = [], []
            steps -= 1
            if steps % 5 == 0:
                print(steps, "left", float(loss), flush=True)


train(int(os.environ.get("STEPS", 26)))
