"""Sugar yield of beet lorries at the weighbridge, learned from the TFRecords of the delivery system."""

import argparse
import os
import shutil
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

NUMBERS = [f"probe_{i}" for i in range(24)]
CODES = {"farm": 500, "variety": 40, "soil": 12, "driver": 300, "field_row": 64, "pile": 90}
HISTORY = 36
BATCH = 1024
ROWS = 8 * BATCH
FIRST, LAST = 8, 19

SCHEMA = {name: tf.io.FixedLenFeature((), tf.float32) for name in NUMBERS}
SCHEMA |= {name: tf.io.FixedLenFeature((), tf.int64) for name in CODES}
SCHEMA |= {"rain": tf.io.FixedLenFeature((HISTORY,), tf.float32), "sugar": tf.io.FixedLenFeature((), tf.float32)}


def write_deliveries(folder, shards=4, seed=13):
    rng = np.random.default_rng(seed)
    floats = lambda values: tf.train.Feature(float_list=tf.train.FloatList(value=values))
    for shard in range(shards):
        with tf.io.TFRecordWriter(f"{folder}/deliveries-{shard:02d}.tfrecord") as writer:
            for _ in range(ROWS // shards):
                probes = rng.standard_normal(len(NUMBERS))
                rain = rng.gamma(1.0, 2.0, HISTORY)
                feature = {name: floats([value]) for name, value in zip(NUMBERS, probes)}
                for name, size in CODES.items():
                    code = int(rng.integers(size))
                    feature[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=[code]))
                feature["rain"] = floats(rain)
                feature["sugar"] = floats([16 + probes[:4].sum() * 0.3 - 0.02 * rain.mean()])
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def split_target(row):
    return row, row.pop("sugar")


def parse_rows(serialized):
    return split_target(tf.io.parse_example(serialized, SCHEMA))


def parse_row(serialized):
    return split_target(tf.io.parse_single_example(serialized, SCHEMA))


def make_dataset(folder, row_by_row):
    data = tf.data.TFRecordDataset(sorted(tf.io.gfile.glob(f"{folder}/*.tfrecord")), num_parallel_reads=2)
    data = data.repeat().shuffle(4096)
    if row_by_row:
        data = data.map(parse_row, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH, drop_remainder=True)
    else:
        data = data.batch(BATCH, drop_remainder=True).map(parse_rows, num_parallel_calls=tf.data.AUTOTUNE)
    return data.prefetch(tf.data.AUTOTUNE)


def build():
    inputs = {name: keras.Input((), name=name) for name in NUMBERS}
    inputs |= {name: keras.Input((), name=name, dtype="int64") for name in CODES}
    inputs["rain"] = keras.Input((HISTORY,), name="rain")
    numbers = keras.ops.stack([inputs[name] for name in NUMBERS], axis=-1)
    parts = [layers.BatchNormalization()(numbers), layers.Dense(48, activation="relu")(inputs["rain"])]
    parts += [layers.Embedding(size, 16, name=f"{name}_embed")(inputs[name]) for name, size in CODES.items()]
    x0 = x = layers.Concatenate()(parts)
    for _ in range(3):
        x = x0 * layers.Dense(x0.shape[-1])(x) + x
    for width in (512, 384, 128):
        x = layers.Dropout(0.1)(layers.Dense(width, activation="relu")(x))
    return keras.Model(inputs, layers.Dense(1)(x))


class Capture(keras.callbacks.Callback):
    def __init__(self, logdir):
        super().__init__()
        self.logdir = logdir

    def on_train_batch_begin(self, batch, logs=None):
        if batch == FIRST:
            tf.profiler.experimental.start(self.logdir)

    def on_train_batch_end(self, batch, logs=None):
        if batch == LAST:
            tf.profiler.experimental.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    folder = tempfile.mkdtemp(prefix="beet_")
    try:
        write_deliveries(folder)
        keras.utils.set_random_seed(1)
        model = build()
        model.compile(keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
        data = make_dataset(folder, row_by_row=args.fault)
        model.fit(data, steps_per_epoch=LAST + 3, epochs=1, callbacks=[Capture(args.logdir)], verbose=2)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
