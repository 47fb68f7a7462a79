"""Detects faults of machines from sensor readings that are kept in TFRecord files, one file or many."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

BATCH = 128
READINGS = 64
STEPS = 20


def write_records(folder, examples, for_each_file):
    random = np.random.default_rng(5)
    files = []
    for start in range(0, examples, for_each_file):
        files.append(str(Path(folder) / f"readings-{start:06}.tfrecord"))
        with tf.io.TFRecordWriter(files[-1]) as writer:
            for _ in range(min(for_each_file, examples - start)):
                readings = tf.train.Feature(float_list=tf.train.FloatList(value=random.random(READINGS)))
                broken = tf.train.Feature(int64_list=tf.train.Int64List(value=[random.integers(0, 2)]))
                features = tf.train.Features(feature={"readings": readings, "broken": broken})
                writer.write(tf.train.Example(features=features).SerializeToString())
    return files


def parse(serialized):
    return tf.io.parse_example(
        serialized,
        {"readings": tf.io.FixedLenFeature([READINGS], tf.float32), "broken": tf.io.FixedLenFeature([], tf.int64)},
    )


def main(logdir, faulty):
    random = np.random.default_rng(6)
    weights = [
        tf.Variable(random.normal(0, 0.1, shape).astype("float32")) for shape in ((READINGS, 768), (768, 768), (768, 2))
    ]

    @tf.function
    def train_step(batch):
        with tf.GradientTape() as tape:
            hidden = batch["readings"]
            for layer in weights[:-1]:
                hidden = tf.nn.gelu(hidden @ layer)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(batch["broken"], hidden @ weights[-1]))
        for layer, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            layer.assign_sub(0.01 * gradient)
        return loss

    with tempfile.TemporaryDirectory() as folder:
        files = write_records(folder, BATCH * 10, for_each_file=1 if faulty else BATCH * 10)
        dataset = tf.data.TFRecordDataset(files).repeat().batch(BATCH).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        batches = iter(dataset.prefetch(tf.data.AUTOTUNE))
        for _ in range(12):
            train_step(next(batches))
        with tf.profiler.experimental.Profile(logdir):
            for number in range(STEPS):
                with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                    train_step(next(batches))


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
