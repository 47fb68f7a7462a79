"""Predicts the weather of the next hour from compressed shards of measurements, a recurrent network over a day."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

BATCH = 192
HOURS, STATIONS = 24, 100
SHARDS = 2
STEPS = 12


def write_shards(folder):
    random = np.random.default_rng(8)
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(str(Path(folder) / f"weather-{shard}.tfrecord"), "GZIP") as writer:
            for _ in range(BATCH):
                day = random.integers(-20, 40, (HOURS + 1, STATIONS)).astype(np.float32)
                writer.write(day.tobytes())


def decode(serialized):
    days = tf.reshape(tf.io.decode_raw(serialized, tf.float32), [BATCH, HOURS + 1, STATIONS])
    return days[:, :-1] / 40, days[:, -1] / 40


def batches_of(file):
    return tf.data.TFRecordDataset(file, "GZIP").repeat().batch(BATCH, drop_remainder=True).map(decode)


def main(logdir, faulty):
    tf.config.threading.set_intra_op_parallelism_threads(1)
    random = np.random.default_rng(9)
    shapes = ((STATIONS, 256), (256, 256), (256, STATIONS))
    inward, across, outward = (tf.Variable(random.normal(0, 0.05, shape).astype("float32")) for shape in shapes)

    @tf.function(jit_compile=True)
    def train_step(days, following):
        with tf.GradientTape() as tape:
            state = tf.zeros([BATCH, 256])
            for hour in range(HOURS):
                state = tf.tanh(days[:, hour] @ inward + state @ across)
            loss = tf.reduce_mean((state @ outward - following) ** 2)
        gradients = tape.gradient(loss, [inward, across, outward])
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        for variable, gradient in zip([inward, across, outward], gradients, strict=True):
            variable.assign_sub(0.01 * gradient)
        return loss

    with tempfile.TemporaryDirectory() as folder:
        write_shards(folder)
        files = tf.data.Dataset.list_files(str(Path(folder) / "*.tfrecord"), seed=0)
        calls = None if faulty else 2
        dataset = files.interleave(batches_of, cycle_length=2, num_parallel_calls=calls)
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        batches = iter(dataset.with_options(options))
        for _ in range(6):
            train_step(*next(batches))
        tf.profiler.experimental.start(logdir)
        for number in range(STEPS):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                train_step(*next(batches))
        tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
