"""P and S arrival picking on three-component seismograms, trained from TFRecord shards."""

import argparse
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

SAMPLES, CROP, SHARDS, PER_SHARD, BATCH = 1536, 1024, 8, 160, 24
SPEC = {
    "waveform": tf.io.FixedLenFeature([], tf.string),
    "p": tf.io.FixedLenFeature([], tf.int64),
    "s": tf.io.FixedLenFeature([], tf.int64),
}


def write_shards(folder, rng):
    t = np.arange(SAMPLES)
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(f"{folder}/events-{shard:03d}.tfrecord") as writer:
            for _ in range(PER_SHARD):
                p = int(rng.integers(550, 800))
                s = p + int(rng.integers(60, 180))
                wave = rng.normal(0, 0.2, (SAMPLES, 3))
                for onset, size in ((p, 1.0), (s, 2.5)):
                    lag = np.clip(t - onset, 0, None)[:, None]
                    wave += size * (lag > 0) * np.exp(-lag / 90) * np.sin(lag * rng.uniform(0.2, 0.5, 3))
                feature = {
                    "waveform": tf.train.Feature(bytes_list=tf.train.BytesList(value=[wave.astype("<f4").tobytes()])),
                    "p": tf.train.Feature(int64_list=tf.train.Int64List(value=[p])),
                    "s": tf.train.Feature(int64_list=tf.train.Int64List(value=[s])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse_batch(serialized):
    example = tf.io.parse_example(serialized, SPEC)
    wave = tf.reshape(tf.io.decode_raw(example["waveform"], tf.float32), [BATCH, SAMPLES, 3])
    start = tf.random.uniform([], 0, SAMPLES - CROP, tf.int32)
    wave = wave[:, start : start + CROP]
    wave -= tf.reduce_mean(wave, 1, keepdims=True)
    wave /= tf.math.reduce_std(wave, 1, keepdims=True) + 1e-6
    wave *= tf.where(tf.random.uniform([BATCH, 1, 1]) < 0.5, 1.0, -1.0)
    t = tf.range(CROP, dtype=tf.float32)
    picks = tf.cast(tf.stack([example["p"], example["s"]], -1) - tf.cast(start, tf.int64), tf.float32)
    target = tf.exp(-0.5 * ((t[None, :, None] - picks[:, None]) / 10.0) ** 2)
    noise = tf.clip_by_value(1.0 - tf.reduce_sum(target, -1, keepdims=True), 0.0, 1.0)
    target = tf.concat([target, noise], -1)
    return wave, target / tf.reduce_sum(target, -1, keepdims=True)


def dataset(folder):
    files = tf.data.Dataset.list_files(f"{folder}/*.tfrecord", seed=1)
    return (
        files.repeat()
        .interleave(
            lambda name: tf.data.TFRecordDataset(name, buffer_size=1 << 20),
            cycle_length=4,
            block_length=8,
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=False,
        )
        .shuffle(512)
        .batch(BATCH, drop_remainder=True)
        .map(parse_batch, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def picker():
    inputs = keras.Input((CROP, 3))
    x, skips = inputs, []
    for filters in (16, 32, 48, 64):
        x = layers.Conv1D(filters, 7, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.Conv1D(filters, 7, strides=4 if filters < 48 else 2, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
    x = layers.Bidirectional(layers.LSTM(32, return_sequences=True))(x)
    for filters, skip in zip((64, 48, 32, 16), reversed(skips)):
        x = layers.Conv1DTranspose(filters, 7, strides=2 if filters > 32 else 4, padding="same")(x)
        x = layers.Concatenate()([layers.ReLU()(x), skip])
        x = layers.Conv1D(filters, 7, padding="same", activation="relu")(x)
    return keras.Model(inputs, layers.Conv1D(3, 1, activation="softmax")(x), name="phase_picker")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(8)
    with tempfile.TemporaryDirectory(prefix="seismic") as folder:
        write_shards(folder, np.random.default_rng(8))
        model = picker()
        schedule = keras.optimizers.schedules.CosineDecay(1e-3, 2000, warmup_steps=50, warmup_target=2e-3)
        model.compile(keras.optimizers.Adam(schedule), keras.losses.CategoricalCrossentropy(), metrics=["mae"])
        board = keras.callbacks.TensorBoard(log_dir=args.logdir, update_freq="epoch", profile_batch=(10, 20))
        model.fit(dataset(folder), epochs=1, steps_per_epoch=25, callbacks=[board], verbose=0)


if __name__ == "__main__":
    main()
