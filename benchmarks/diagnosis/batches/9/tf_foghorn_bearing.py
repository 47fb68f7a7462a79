"""Learns the bearing of a foghorn from a pair of shore microphones, recorded as TFRecord shards.

    python tf_foghorn_bearing.py LOGDIR
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import argparse
import glob
import shutil
import tempfile

import keras
import numpy as np
import tensorflow as tf

RATE = 8000
SECONDS = 6
WINDOW = 8192          # what the network hears, about one second
FRAME, HOP = 512, 128
BATCH = 16
SECTORS = 12


def write_shards(folder, shards=4, per_shard=48):
    rng = np.random.default_rng(21)
    time = np.arange(RATE * SECONDS) / RATE
    for shard in range(shards):
        with tf.io.TFRecordWriter(os.path.join(folder, f"horn-{shard:03d}.tfrecord")) as writer:
            for _ in range(per_shard):
                sector = int(rng.integers(SECTORS))
                tone = np.sin(2 * np.pi * (150 + 18 * sector) * time) * (np.sin(time * 3) > 0)
                pair = np.stack([tone, np.roll(tone, 3 * sector)]) + rng.normal(0, 0.3, (2, time.size))
                feature = {
                    "audio": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[(pair * 8000).astype("<i2").tobytes()])),
                    "sector": tf.train.Feature(int64_list=tf.train.Int64List(value=[sector])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse(serialized):
    parsed = tf.io.parse_single_example(serialized, {
        "audio": tf.io.FixedLenFeature([], tf.string),
        "sector": tf.io.FixedLenFeature([], tf.int64),
    })
    audio = tf.reshape(tf.io.decode_raw(parsed["audio"], tf.int16), (2, RATE * SECONDS))
    return tf.cast(audio, tf.float32) / 32768.0, parsed["sector"]


def make_dataset(folder):
    files = sorted(glob.glob(os.path.join(folder, "*.tfrecord")))
    return (tf.data.TFRecordDataset(files, num_parallel_reads=2)
            .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
            .shuffle(128)
            .repeat()
            .batch(BATCH, drop_remainder=True)
            .prefetch(2))


def make_network():
    return keras.Sequential([
        keras.Input((None, FRAME // 2 + 1, 2)),
        keras.layers.Conv2D(24, (3, 5), strides=(1, 2), padding="same", activation="relu"),
        keras.layers.Conv2D(48, 3, strides=(1, 2), padding="same", activation="relu"),
        keras.layers.Conv2D(64, 3, strides=2, padding="same", activation="relu"),
        keras.layers.Conv2D(64, 3, strides=2, padding="same", activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(SECTORS),
    ])


def spectrogram(audio):
    spectrum = tf.abs(tf.signal.stft(audio, FRAME, HOP))
    return tf.transpose(tf.math.log(spectrum + 1e-4), (0, 2, 3, 1))


def window_then_spectrogram(audio):
    begin = tf.random.uniform([], 0, RATE * SECONDS - WINDOW, dtype=tf.int32)
    return spectrogram(audio[:, :, begin:begin + WINDOW])


def spectrogram_then_window(audio):
    frames = (WINDOW - FRAME) // HOP + 1
    begin = tf.random.uniform([], 0, (RATE * SECONDS - WINDOW) // HOP, dtype=tf.int32)
    return spectrogram(audio)[:, begin:begin + frames]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    tf.random.set_seed(4)

    network = make_network()
    optimizer = keras.optimizers.Adam(1e-3)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    features = spectrogram_then_window if args.fault else window_then_spectrogram

    @tf.function
    def train_step(audio, sector):
        x = features(audio)
        with tf.GradientTape() as tape:
            loss = loss_fn(sector, network(x, training=True))
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables))
        return loss

    folder = tempfile.mkdtemp(prefix="foghorn-")
    try:
        write_shards(folder)
        dataset = make_dataset(folder)
        batches = iter(dataset)
        draw = (lambda: next(iter(dataset))) if args.fault else (lambda: next(batches))
        losses = []
        for _ in range(8):
            losses.append(train_step(*draw()))
        with tf.profiler.experimental.Profile(args.logdir):
            for _ in range(12):
                losses.append(train_step(*draw()))
            losses[-1].numpy()
        print(f"loss {float(losses[0]):.3f} -> {float(losses[-1]):.3f}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
