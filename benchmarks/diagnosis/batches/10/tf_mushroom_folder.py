"""Mushroom genera from a folder of photographs, one folder a genus; one worker's part of the data."""
import argparse
import json
import os
import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow import keras

GENERA = ["agaricus", "amanita", "boletus", "cantharellus", "coprinus", "russula"]
SIDE = 96
BATCH = 24
WARMUP, RECORDED = 8, 10


def photograph_all(folder, per_genus=24, seed=21):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:120, 0:160] / 120.0
    for k, genus in enumerate(GENERA):
        (folder / genus).mkdir()
        for i in range(per_genus):
            cy, cx, r = rng.uniform(0.3, 0.7), rng.uniform(0.4, 0.9), rng.uniform(0.15, 0.3)
            cap = ((yy - cy) ** 2 + (xx - cx) ** 2 < r * r)[..., None]
            ground = rng.uniform(40, 110, 3) + 18 * rng.standard_normal((120, 160, 3))
            colour = np.array([60 + 30 * k, 200 - 25 * k, 50 + 10 * k])
            picture = np.where(cap, colour + 10 * rng.standard_normal((120, 160, 3)), ground)
            photo = Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).resize((512, 384), Image.BICUBIC)
            photo.save(folder / genus / f"{i:04d}.jpg", quality=90)


def read_photo(path):
    genus = tf.strings.split(path, os.sep)[-2]
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (SIDE, SIDE)) / 255.0
    return image, tf.argmax(tf.cast(tf.equal(genus, GENERA), tf.int32))


def flip(image, label):
    return tf.image.random_flip_left_right(image), label


def make_dataset(folder, workers, index, shard_files):
    ds = tf.data.Dataset.list_files(str(folder / "*" / "*.jpg"), shuffle=True, seed=6)
    if shard_files:
        ds = ds.shard(workers, index)
    ds = ds.repeat().map(read_photo, num_parallel_calls=tf.data.AUTOTUNE)
    if not shard_files:
        ds = ds.shard(workers, index)
    ds = ds.map(flip, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def make_model():
    inputs = keras.Input((SIDE, SIDE, 3))
    x = inputs
    for filters in (16, 32, 64, 96):
        x = keras.layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(128, activation="relu")(x)
    return keras.Model(inputs, keras.layers.Dense(len(GENERA))(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    cluster = json.loads(os.environ.get("WORKERS", '{"count": 6, "index": 0}'))

    keras.utils.set_random_seed(13)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mushrooms_"))
    try:
        photograph_all(folder)
        batches = iter(make_dataset(folder, cluster["count"], cluster["index"], shard_files=not args.fault))
        model = make_model()
        optimizer = keras.optimizers.Adam(1e-3)
        optimizer.build(model.trainable_variables)
        entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

        @tf.function
        def train_step(images, labels):
            with tf.GradientTape() as tape:
                loss = entropy(labels, model(images, training=True))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(grads, model.trainable_variables)
            return loss

        for _ in range(WARMUP):
            loss = train_step(*next(batches))
        loss.numpy()
        with tf.profiler.experimental.Profile(args.logdir):
            for step in range(RECORDED):
                with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                    loss = train_step(*next(batches))
            final = loss.numpy()
        print(f"loss {final:.3f}")
        del batches
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
