"""Fits an elastic-net regression on gene counts, 4096 to an example, read from TFRecord files."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

BATCH = 256
GENES = 4096
STEPS = 15


def write_shards(folder, compression):
    random = np.random.default_rng(7)
    files = []
    for shard in range(2):
        files.append(str(Path(folder) / f"genes-{shard}.tfrecord"))
        with tf.io.TFRecordWriter(files[-1], compression) as writer:
            for _ in range(BATCH):
                writer.write(random.poisson(4.0, GENES + 1).astype(np.float32).tobytes())
    return files


def decode(serialized):
    numbers = tf.io.decode_raw(serialized, tf.float32)
    return numbers[:, 1:], numbers[:, 0]


def main(logdir, faulty):
    weights = tf.Variable(tf.zeros([GENES, 24]))
    mixing = tf.Variable(tf.ones([24, 1]) * 0.1)

    @tf.function
    def train_step(genes, level):
        with tf.GradientTape() as tape:
            predicted = (tf.math.log1p(genes) @ weights @ mixing)[:, 0]
            penalty = tf.reduce_sum(tf.abs(weights)) + tf.reduce_sum(weights * weights)
            loss = tf.reduce_mean((predicted - level) ** 2) + 1e-4 * penalty
        of_weights, of_mixing = tape.gradient(loss, [weights, mixing])
        weights.assign_sub(1e-4 * of_weights)
        mixing.assign_sub(1e-4 * of_mixing)
        return loss

    compression = "GZIP" if faulty else ""
    with tempfile.TemporaryDirectory() as folder:
        dataset = tf.data.TFRecordDataset(write_shards(folder, compression), compression)
        batches = iter(dataset.repeat().batch(BATCH, drop_remainder=True).map(decode).prefetch(tf.data.AUTOTUNE))
        for _ in range(5):
            train_step(*next(batches))
        tf.profiler.experimental.start(logdir)
        for number in range(STEPS):
            with tf.profiler.experimental.Trace("fit", step_num=number, _r=1):
                train_step(*next(batches))
        tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
