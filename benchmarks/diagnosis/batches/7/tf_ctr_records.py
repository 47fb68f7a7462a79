"""Wide and deep click model on TFRecord files, with a custom loop. Records are parsed a batch at a time."""

import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

BATCH = 512
STEPS = 12
VOCAB = 4000
FEATURES = {
    "user": tf.io.FixedLenFeature([], tf.int64),
    "items": tf.io.FixedLenFeature([8], tf.int64),
    "dense": tf.io.FixedLenFeature([26], tf.float32),
    "click": tf.io.FixedLenFeature([], tf.float32),
}


def _int64(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def _floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def write_records(folder, shards=4, rows=2048):
    rng = np.random.default_rng(11)
    for shard in range(shards):
        with tf.io.TFRecordWriter(str(folder / f"clicks-{shard:05d}-of-{shards:05d}.tfrecord")) as writer:
            for _ in range(rows):
                example = tf.train.Example(
                    features=tf.train.Features(
                        feature={
                            "user": _int64([rng.integers(VOCAB)]),
                            "items": _int64(rng.integers(0, VOCAB, 8)),
                            "dense": _floats(rng.random(26)),
                            "click": _floats([float(rng.random() < 0.2)]),
                        }
                    )
                )
                writer.write(example.SerializeToString())


def input_fn(folder):
    files = tf.data.Dataset.list_files(str(folder / "*.tfrecord"), shuffle=True, seed=1)
    ds = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.shuffle(2048).repeat().batch(BATCH, drop_remainder=True)
    ds = ds.map(lambda raw: tf.io.parse_example(raw, FEATURES), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.prefetch(tf.data.AUTOTUNE)


class WideAndDeep(keras.Model):
    def __init__(self):
        super().__init__()
        self.users = keras.layers.Embedding(VOCAB, 32)
        self.items = keras.layers.Embedding(VOCAB, 32)
        self.wide = keras.layers.Dense(1)
        self.deep = keras.Sequential(
            [keras.layers.Dense(n, activation="relu") for n in (1024, 512, 256)] + [keras.layers.Dense(1)]
        )

    def call(self, features):
        items = tf.reshape(self.items(features["items"]), [-1, 8 * 32])
        deep = tf.concat([self.users(features["user"]), items, features["dense"]], axis=1)
        return tf.squeeze(self.wide(features["dense"]) + self.deep(deep), axis=1)


def main(logdir, faulty):
    del faulty
    tf.random.set_seed(0)
    model = WideAndDeep()
    optimizer = keras.optimizers.SGD(0.05)
    bce = keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def train_step(features):
        with tf.GradientTape() as tape:
            loss = bce(features["click"], model(features, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    with tempfile.TemporaryDirectory() as tmp:
        write_records(Path(tmp))
        iterator = iter(input_fn(Path(tmp)))
        for _ in range(6):
            loss = train_step(next(iterator))
        tf.profiler.experimental.start(logdir)
        for step in range(STEPS):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                loss = train_step(next(iterator))
        tf.profiler.experimental.stop()
        print("loss", loss.numpy(), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
