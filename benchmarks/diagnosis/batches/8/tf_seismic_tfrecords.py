"""Event type of seismograms: TFRecords of raw counts, log spectrograms, a 2-D convolutional network.

The job runs on several workers, each with its part of the records.
"""

import argparse
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SAMPLES = 3000
WORKERS = 4
BATCH = 32
FEATURES = {
    "waveform": tf.io.FixedLenFeature([], tf.string),
    "station": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def write_records(folder, files=8, per_file=96):
    rng = np.random.default_rng(77)
    for index in range(files):
        with tf.io.TFRecordWriter(os.path.join(folder, f"events-{index:05d}.tfrecord")) as writer:
            for _ in range(per_file):
                label = int(rng.integers(0, 4))
                counts = rng.normal(0, 400 * (1 + label), (SAMPLES, 3))
                counts[800 + 200 * label :] *= 3
                feature = {
                    "waveform": tf.train.Feature(bytes_list=tf.train.BytesList(value=[counts.astype("<i2").tobytes()])),
                    "station": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"ST%02d" % rng.integers(40)])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse(record):
    example = tf.io.parse_single_example(record, FEATURES)
    counts = tf.reshape(tf.io.decode_raw(example["waveform"], tf.int16), [SAMPLES, 3])
    trace = tf.cast(counts, tf.float32)
    trace = trace - tf.reduce_mean(trace, axis=0)
    spectra = tf.signal.stft(tf.transpose(trace), frame_length=256, frame_step=32)
    power = tf.math.log(tf.square(tf.abs(spectra)) + 1.0)
    power = tf.transpose(power, [1, 2, 0])[:, :96]
    return (power - tf.reduce_mean(power)) / (tf.math.reduce_std(power) + 1e-3), example["label"]


def make_dataset(folder, worker, fault):
    files = tf.data.Dataset.list_files(os.path.join(folder, "events-*.tfrecord"), shuffle=False)
    if not fault:
        files = files.shard(WORKERS, worker)
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=tf.data.AUTOTUNE)
    ds = records.repeat().shuffle(512).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    if fault:
        ds = ds.shard(WORKERS, worker)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


def build_model():
    inputs = keras.Input((86, 96, 3))
    x = layers.Conv2D(24, 5, strides=2, padding="same", activation="relu")(inputs)
    for width in (48, 64, 96):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dense(96, activation="relu")(layers.Flatten()(x))
    return keras.Model(inputs, layers.Dense(4)(layers.Dropout(0.3)(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--worker", type=int, default=0)
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(args.worker)
    with tempfile.TemporaryDirectory() as folder:
        write_records(folder)
        model = build_model()
        model.compile(
            optimizer="adam",
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        model.fit(
            make_dataset(folder, args.worker, args.fault),
            steps_per_epoch=24,
            epochs=1,
            verbose=2,
            callbacks=[keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))],
        )


if __name__ == "__main__":
    main()
