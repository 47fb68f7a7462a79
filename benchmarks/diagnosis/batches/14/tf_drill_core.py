"""Names the rock in photographs of drill cores, box by box.

    python tf_drill_core.py LOGDIR [--fault]
"""

import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras

ROCKS = ["granite", "gneiss", "basalt", "schist", "marble", "quartzite", "shale", "dolomite", "breccia"]
SIDE = 64
BATCH = 24


def photographs(number=900):
    rng = np.random.default_rng(17)
    rock = rng.integers(0, len(ROCKS), number)
    tone = rng.integers(50, 200, (len(ROCKS), 3))
    grain = rng.integers(-40, 40, (number, SIDE, SIDE, 1))
    bands = 25 * np.sin(np.arange(SIDE)[None, :, None, None] * (0.1 + 0.08 * rock[:, None, None, None]))
    images = np.clip(tone[rock][:, None, None, :] + grain + bands, 0, 255).astype(np.uint8)
    return images, rock.astype(np.int32)


def turn(image, label):
    image = tf.image.random_flip_left_right(image)
    return tf.image.random_flip_up_down(image), label


def boxes():
    return (
        tf.data.Dataset.from_tensor_slices(photographs())
        .shuffle(900)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(turn, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def residual(x, width, stride):
    y = keras.layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
    y = keras.layers.BatchNormalization()(y)
    y = keras.layers.ReLU()(y)
    y = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
    y = keras.layers.BatchNormalization()(y)
    if stride != 1 or x.shape[-1] != width:
        x = keras.layers.Conv2D(width, 1, strides=stride, use_bias=False)(x)
    return keras.layers.ReLU()(keras.layers.Add()([x, y]))


def build():
    image = keras.Input((SIDE, SIDE, 3), dtype="uint8")
    x = keras.layers.Rescaling(1 / 127.5, offset=-1)(image)
    x = keras.layers.Conv2D(16, 5, strides=2, padding="same", activation="relu")(x)
    x = residual(x, 24, 1)
    x = residual(x, 48, 2)
    x = residual(x, 96, 2)
    x = keras.layers.GlobalAveragePooling2D()(x)
    rock = keras.layers.Dense(len(ROCKS), dtype="float32")(x)
    return keras.Model(image, rock)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(17)
    if args.fault:
        keras.mixed_precision.set_global_policy("mixed_float16")
    model = build()
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["sparse_categorical_accuracy"],
    )
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, write_graph=False, profile_batch=(8, 17))
    model.fit(boxes(), epochs=1, steps_per_epoch=20, callbacks=[board], verbose=2)


if __name__ == "__main__":
    main()
