"""Learns the five partials of church bells, and which bell rang, from strikes recorded in the tower.

    python tf_bell_partials.py LOGDIR
"""

import argparse
import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

FRAMES, BANDS = 128, 64
PARTIALS = ["hum", "prime", "tierce", "quint", "nominal"]
BELLS = 24
BATCH = 24
SHARDS, STRIKES = 4, 180


def ring(rng, bell):
    """A log mel picture of one strike: five decaying lines, the clapper's noise and some wind."""
    base = 6.0 + 1.1 * bell
    ratios = np.array([0.5, 1.0, 1.2, 1.5, 2.0]) * (1 + 0.02 * rng.standard_normal(5))
    centres = np.clip(base * ratios, 0, BANDS - 1)
    time = np.arange(FRAMES)[:, None]
    picture = 0.2 * rng.standard_normal((FRAMES, BANDS))
    for number, centre in enumerate(centres):
        line = np.exp(-0.5 * ((np.arange(BANDS) - centre) / 0.8) ** 2)
        picture += np.exp(-time / (90.0 / (1 + number))) * line
    picture[:4] += rng.random((4, BANDS))
    return picture.astype(np.float16), centres.astype(np.float32)


def write_shards(folder):
    rng = np.random.default_rng(11)
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(str(folder / f"strikes-{shard:02d}.tfrecord")) as out:
            for _ in range(STRIKES):
                bell = int(rng.integers(BELLS))
                picture, centres = ring(rng, bell)
                feature = {
                    "mel": tf.train.Feature(bytes_list=tf.train.BytesList(value=[picture.tobytes()])),
                    "partials": tf.train.Feature(float_list=tf.train.FloatList(value=centres)),
                    "bell": tf.train.Feature(int64_list=tf.train.Int64List(value=[bell])),
                }
                out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse(serialized):
    fields = tf.io.parse_example(
        serialized,
        {
            "mel": tf.io.FixedLenFeature([], tf.string),
            "partials": tf.io.FixedLenFeature([len(PARTIALS)], tf.float32),
            "bell": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    mel = tf.reshape(tf.io.decode_raw(fields["mel"], tf.float16), (BATCH, FRAMES, BANDS, 1))
    return tf.cast(mel, tf.float32), {"partials": fields["partials"] / BANDS, "bell": fields["bell"]}


def strikes(folder):
    files = sorted(str(path) for path in folder.glob("*.tfrecord"))
    return (
        tf.data.TFRecordDataset(files, num_parallel_reads=2)
        .cache()
        .shuffle(SHARDS * STRIKES)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def build():
    mel = keras.Input((FRAMES, BANDS, 1))
    x = mel
    for width in (16, 32, 64):
        x = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.ReLU()(x)
        x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.Conv2D(96, 3, padding="same", activation="relu")(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.Dropout(0.2)(x)
    return keras.Model(
        mel,
        {
            "partials": keras.layers.Dense(len(PARTIALS), name="partials")(x),
            "bell": keras.layers.Dense(BELLS, name="bell")(x),
        },
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    keras.utils.set_random_seed(11)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_shards(folder)
        model = build()
        model.compile(
            optimizer=keras.optimizers.AdamW(1e-3, weight_decay=1e-4),
            loss={"partials": "mse", "bell": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
            loss_weights={"partials": 10.0, "bell": 1.0},
            metrics={"bell": "sparse_categorical_accuracy"},
        )
        board = keras.callbacks.TensorBoard(log_dir=args.logdir, write_graph=False, profile_batch=(10, 20))
        history = model.fit(strikes(folder), epochs=1, steps_per_epoch=26, callbacks=[board], verbose=2)
    print("loss", round(history.history["loss"][-1], 3))


if __name__ == "__main__":
    main()
