"""Swarming forecast from microphones in beehives: TFRecords of ten-second clips, log-mel pictures, a small CRNN."""
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf

LOGDIR = sys.argv[1]
RATE, SECONDS, MELS, BATCH = 4000, 4, 40, 24
CLIPS, SHARDS = 240, 4

rng = np.random.default_rng(31)
tf.random.set_seed(31)


def write_shards(folder):
    t = np.arange(RATE * SECONDS) / RATE
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(os.path.join(folder, f"hive-{shard}.tfrecord")) as writer:
            for _ in range(CLIPS // SHARDS):
                swarm = rng.integers(0, 2)
                tone = np.sin(2 * np.pi * (230 + 90 * swarm + rng.normal(0, 8)) * t)
                clip = 6000 * (tone + rng.normal(0, 0.7, t.size))
                feature = {
                    "clip": tf.train.Feature(bytes_list=tf.train.BytesList(value=[clip.astype("<i2").tobytes()])),
                    "swarm": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(swarm)])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


SPEC = {"clip": tf.io.FixedLenFeature([], tf.string), "swarm": tf.io.FixedLenFeature([], tf.int64)}
MEL = tf.signal.linear_to_mel_weight_matrix(MELS, 257, RATE, 60.0, 1900.0)


def prepare(serialized):
    rows = tf.io.parse_example(serialized, SPEC)
    wave = tf.cast(tf.io.decode_raw(rows["clip"], tf.int16), tf.float32) / 32768.0
    wave = tf.reshape(wave, (BATCH, RATE * SECONDS))
    power = tf.abs(tf.signal.stft(wave, 400, 160, 512)) ** 2
    logmel = tf.math.log(tf.einsum("btf,fm->btm", power, MEL) + 1e-5)
    return logmel[..., None], tf.cast(rows["swarm"], tf.float32)[:, None]


def dataset(folder):
    files = tf.data.Dataset.list_files(os.path.join(folder, "*.tfrecord"), seed=1)
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=SHARDS, num_parallel_calls=2)
    return (
        records.cache()
        .shuffle(CLIPS, seed=2)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(prepare, num_parallel_calls=2)
        .prefetch(tf.data.AUTOTUNE)
    )


def crnn():
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((98, MELS, 1)),
            layers.Rescaling(1 / 3, offset=2.0),
            layers.Conv2D(24, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(48, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D((1, 2)),
            layers.Reshape((24, 5 * 64)),
            layers.Bidirectional(layers.GRU(48)),
            layers.Dense(1),
        ]
    )


def main():
    model = crnn()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    running = tf.keras.metrics.Mean()

    @tf.function
    def train_step(pictures, swarm):
        with tf.GradientTape() as tape:
            logits = model(pictures, training=True)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=swarm, logits=logits))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        running.update_state(loss)
        return loss

    with tempfile.TemporaryDirectory() as folder:
        write_shards(folder)
        batches = iter(dataset(folder))
        for _ in range(12):
            train_step(*next(batches))
        print("after warming up", running.result().numpy())

        with tf.profiler.experimental.Profile(LOGDIR):
            for _ in range(12):
                loss = train_step(*next(batches))
            loss.numpy()
        print("loss", running.result().numpy())


if __name__ == "__main__":
    main()
