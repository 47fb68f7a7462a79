"""Reads single cuneiform signs from line drawings; the signs lie as PNG in TFRecord shards."""

import argparse
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SIGNS = 60
SIDE = 64
SHARDS, EACH = 4, 160
BATCH = 32
WARM_UP, RECORDED = 9, 12


def write_shards(folder, seed=17):
    rng = np.random.default_rng(seed)
    stamps = rng.integers(4, SIDE - 12, (SIGNS, 6, 2))
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(f"{folder}/signs-{shard}.tfrecord") as out:
            for _ in range(EACH):
                sign = int(rng.integers(SIGNS))
                drawing = rng.integers(0, 40, (SIDE, SIDE, 1), dtype=np.uint8)
                for y, x in stamps[sign] + rng.integers(-2, 3, (6, 2)):
                    drawing[y : y + 3, x : x + 9] = 230
                    drawing[y : y + 7, x : x + 2] = 200
                png = tf.io.encode_png(drawing).numpy()
                feature = {
                    "png": tf.train.Feature(bytes_list=tf.train.BytesList(value=[png])),
                    "sign": tf.train.Feature(int64_list=tf.train.Int64List(value=[sign])),
                }
                out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def read(record):
    row = tf.io.parse_single_example(
        record, {"png": tf.io.FixedLenFeature([], tf.string), "sign": tf.io.FixedLenFeature([], tf.int64)}
    )
    drawing = tf.io.decode_png(row["png"], channels=1)
    drawing.set_shape((SIDE, SIDE, 1))
    return drawing, row["sign"]


def jitter(drawings, signs):
    x = tf.cast(drawings, tf.float32) / 255.0
    x = tf.pad(x, [[0, 0], [4, 4], [4, 4], [0, 0]])
    x = tf.image.random_crop(x, (BATCH, SIDE, SIDE, 1))
    return x, signs


def batches(folder):
    files = tf.data.Dataset.list_files(f"{folder}/*.tfrecord", shuffle=True)
    data = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=tf.data.AUTOTUNE)
    data = data.map(read, num_parallel_calls=tf.data.AUTOTUNE).cache().shuffle(SHARDS * EACH).repeat()
    data = data.batch(BATCH, drop_remainder=True).map(jitter, num_parallel_calls=tf.data.AUTOTUNE)
    return data.prefetch(tf.data.AUTOTUNE)


class Reader(keras.Model):
    def __init__(self):
        super().__init__()
        self.stem = layers.Conv2D(32, 5, strides=2, padding="same", activation="relu")
        self.blocks = []
        for width in (32, 64, 96):
            self.blocks += [
                layers.Conv2D(width, 3, padding="same", activation="relu"),
                layers.Conv2D(width, 3, strides=2, padding="same", activation="relu"),
                layers.LayerNormalization(),
            ]
        self.top = keras.Sequential([layers.Flatten(), layers.Dense(192, activation="relu"), layers.Dense(SIGNS)])

    def call(self, drawings):
        x = self.stem(drawings)
        for layer in self.blocks:
            x = layer(x)
        return self.top(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    model = Reader()
    optimizer = keras.optimizers.AdamW(6e-4)
    criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    seen = keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def train_step(drawings, signs):
        with tf.GradientTape() as tape:
            logits = model(drawings, training=True)
            loss = criterion(signs, logits)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        seen.update_state(signs, logits)
        return loss

    with tempfile.TemporaryDirectory() as folder:
        write_shards(folder)
        stream = iter(batches(folder))
        for _ in range(WARM_UP):
            train_step(*next(stream))
        with tf.profiler.experimental.Profile(args.logdir):
            for _ in range(RECORDED):
                loss = train_step(*next(stream))
            final = float(loss)
        print(f"loss {final:.3f}, accuracy {float(seen.result()):.3f}")


if __name__ == "__main__":
    main()
