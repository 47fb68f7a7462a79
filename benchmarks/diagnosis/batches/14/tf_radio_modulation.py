"""Which modulation? A residual 1-D convolutional net on complex baseband snapshots from a radio monitor."""
import argparse
import os
import shutil
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

KINDS = ["bpsk", "qpsk", "8psk", "16qam", "4fsk", "am"]
LENGTH = 512
BATCH = 64
PER_SHARD = 256
SHARDS = 6


def snapshot(kind, rng):
    per_symbol = 8
    n = LENGTH // per_symbol
    if kind in ("bpsk", "qpsk", "8psk"):
        order = {"bpsk": 2, "qpsk": 4, "8psk": 8}[kind]
        symbols = np.exp(2j * np.pi * rng.integers(0, order, n) / order)
    elif kind == "16qam":
        symbols = (2 * rng.integers(0, 4, n) - 3 + 1j * (2 * rng.integers(0, 4, n) - 3)) / 3.2
    elif kind == "4fsk":
        symbols = None
        steps = np.repeat(2 * rng.integers(0, 4, n) - 3, per_symbol)
        wave = np.exp(1j * np.cumsum(steps) * 0.12)
    else:
        symbols = None
        t = np.arange(LENGTH)
        wave = (1 + 0.6 * np.sin(2 * np.pi * t * rng.uniform(0.003, 0.02))).astype(complex)
    if symbols is not None:
        taps = np.hanning(2 * per_symbol)
        wave = np.convolve(np.repeat(symbols, per_symbol), taps / taps.sum(), mode="same")
    drift = np.exp(1j * (rng.uniform(-0.03, 0.03) * np.arange(LENGTH) + rng.uniform(0, 2 * np.pi)))
    noise = rng.normal(size=LENGTH) + 1j * rng.normal(size=LENGTH)
    wave = wave * drift + 10 ** (-rng.uniform(0, 20) / 20) * noise / np.sqrt(2)
    return np.stack([wave.real, wave.imag], -1).astype(np.float32)


def write_shards(folder):
    rng = np.random.default_rng(9)
    for s in range(SHARDS):
        with tf.io.TFRecordWriter(os.path.join(folder, f"snap-{s:03d}.tfrecord")) as out:
            for _ in range(PER_SHARD):
                k = int(rng.integers(len(KINDS)))
                wave = (snapshot(KINDS[k], rng) * 4000).clip(-32768, 32767).astype("<i2")
                feature = {
                    "iq": tf.train.Feature(bytes_list=tf.train.BytesList(value=[wave.tobytes()])),
                    "kind": tf.train.Feature(int64_list=tf.train.Int64List(value=[k])),
                }
                out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse(serialized):
    spec = {"iq": tf.io.FixedLenFeature([], tf.string), "kind": tf.io.FixedLenFeature([], tf.int64)}
    parsed = tf.io.parse_example(serialized, spec)
    iq = tf.reshape(tf.io.decode_raw(parsed["iq"], tf.int16, little_endian=True), (BATCH, LENGTH, 2))
    return tf.cast(iq, tf.float32) / 4000.0, parsed["kind"]


def rotate(iq, kind):
    """A random carrier phase for each snapshot."""
    phase = tf.random.uniform((BATCH, 1), 0, 2 * np.pi)
    c, s = tf.cos(phase), tf.sin(phase)
    i, q = iq[..., 0], iq[..., 1]
    return tf.stack([c * i - s * q, s * i + c * q], -1), kind


def dataset(folder):
    files = tf.data.Dataset.list_files(os.path.join(folder, "*.tfrecord"), shuffle=True, seed=9)
    return (
        files.interleave(tf.data.TFRecordDataset, cycle_length=3, num_parallel_calls=tf.data.AUTOTUNE)
        .shuffle(1024)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        .map(rotate, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def build():
    inputs = keras.Input((LENGTH, 2))
    x = layers.Conv1D(32, 7, padding="same", activation="relu")(inputs)
    for width in (32, 48, 64, 64):
        skip = layers.Conv1D(width, 1)(x)
        y = layers.Conv1D(width, 5, padding="same", use_bias=False)(x)
        y = layers.Activation("relu")(layers.BatchNormalization()(y))
        y = layers.Conv1D(width, 5, padding="same", use_bias=False)(y)
        y = layers.BatchNormalization()(y)
        x = layers.MaxPooling1D(2)(layers.Activation("relu")(y + skip))
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dense(96, activation="selu")(x)
    x = layers.AlphaDropout(0.2)(x)
    return keras.Model(inputs, layers.Dense(len(KINDS))(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(9)
    folder = tempfile.mkdtemp()
    try:
        write_shards(folder)
        data = dataset(folder)
        model = build()
        model.compile(
            optimizer=keras.optimizers.Adam(1e-3),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        model.fit(data, epochs=1, steps_per_epoch=10, verbose=2)
        board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=2, write_graph=False)
        model.fit(data, epochs=1, steps_per_epoch=10, callbacks=[board], verbose=2)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
