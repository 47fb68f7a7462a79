"""Dates cuneiform tablets from the museum's photographs.

    python tf_cuneiform_tablets.py LOGDIR
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import argparse
import shutil
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from PIL import Image

PERIODS = ["uruk", "ur_iii", "old_babylonian", "neo_assyrian"]
SIDE = 128
BATCH = 12


def write_photographs(folder, count=60, width=840, height=630):
    rng = np.random.default_rng(11)
    for number in range(count):
        period = number % len(PERIODS)
        clay = rng.normal(150 - 12 * period, 22, (height // 6, width // 6, 3))
        for _ in range(60 + 30 * period):
            row, column = rng.integers(0, height // 6 - 8), rng.integers(0, width // 6 - 8)
            clay[row:row + 3 + period, column:column + 7] -= 55
        photo = Image.fromarray(np.clip(clay, 0, 255).astype(np.uint8)).resize((width, height), Image.BICUBIC)
        photo.save(folder / f"{PERIODS[period]}-P{100000 + number}.jpg", quality=88)


def period_of(path):
    name = tf.strings.split(path, os.sep)[-1]
    return tf.argmax(tf.constant(PERIODS) == tf.strings.split(name, "-")[0], output_type=tf.int32)


def relight(image):
    image = tf.image.random_brightness(image, 0.15)
    image = tf.image.random_contrast(image, 0.8, 1.25)
    image = tf.image.random_saturation(image, 0.7, 1.3)
    return tf.image.random_hue(image, 0.03)


def load_small(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, ratio=4)
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = relight(tf.image.resize(image, (SIDE, SIDE)))
    return tf.clip_by_value(image, 0.0, 1.0), period_of(path)


def load_photo(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.resize(relight(image), (SIDE, SIDE))
    return tf.clip_by_value(image, 0.0, 1.0), period_of(path)


def make_dataset(folder, load):
    files = tf.data.Dataset.list_files(str(folder / "*.jpg"), shuffle=True, seed=3)
    return (files.repeat()
            .map(load, num_parallel_calls=tf.data.AUTOTUNE)
            .batch(BATCH, drop_remainder=True)
            .prefetch(tf.data.AUTOTUNE))


def block(x, filters):
    y = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    y = keras.layers.BatchNormalization()(y)
    y = keras.layers.ReLU()(y)
    return keras.layers.MaxPooling2D()(y)


def make_model():
    inputs = keras.Input((SIDE, SIDE, 3))
    x = keras.layers.RandomFlip("horizontal")(inputs)
    for filters in (16, 32, 64, 96):
        x = block(x, filters)
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.Dropout(0.2)(x)
    return keras.Model(inputs, keras.layers.Dense(len(PERIODS))(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(5)

    folder = Path(tempfile.mkdtemp(prefix="tablets-"))
    try:
        write_photographs(folder)
        dataset = make_dataset(folder, load_photo if args.fault else load_small)
        model = make_model()
        model.compile(
            optimizer=keras.optimizers.AdamW(1e-3),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))
        model.fit(dataset, steps_per_epoch=22, epochs=1, callbacks=[board], verbose=2)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
