"""Predicts when a ship will take its pilot aboard, from the AIS reports of its approach.

    python tf_pilot_boats.py LOGDIR [--fault]
"""

import argparse
import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

SHIPS, REPORTS, FIELDS = 12_000, 128, 8
BATCH = 512
WARMUP, RECORDED = 10, 12


def write_archive(folder, fault):
    """The port's log comes report by report: one block of all ships for each field and minute."""
    rng = np.random.default_rng(23)
    log = np.empty((FIELDS, REPORTS, SHIPS), np.float32)
    for field in log:
        rng.standard_normal(out=field, dtype=np.float32)
    delay = log[0].mean(axis=0) * 5 + log[1, -1]
    tracks = log.T if fault else np.ascontiguousarray(log.T)
    np.save(folder / "tracks.npy", tracks)
    np.save(folder / "delay.npy", delay.astype(np.float32))


def approaches(folder):
    tracks = np.load(folder / "tracks.npy", mmap_mode="r")
    delay = np.load(folder / "delay.npy")

    def batches():
        rng = np.random.default_rng(24)
        while True:
            ships = rng.integers(0, SHIPS, BATCH)
            yield np.take(tracks, ships, axis=0), np.take(delay, ships)

    signature = (
        tf.TensorSpec((BATCH, REPORTS, FIELDS), tf.float32),
        tf.TensorSpec((BATCH,), tf.float32),
    )
    return tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(2)


def build():
    return keras.Sequential(
        [
            keras.Input((REPORTS, FIELDS)),
            keras.layers.Conv1D(32, 5, strides=2, padding="same", activation="relu"),
            keras.layers.Conv1D(64, 5, strides=2, padding="same", activation="relu"),
            keras.layers.Conv1D(96, 5, strides=2, padding="same", activation="relu"),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dense(1),
        ]
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(23)
    model = build()
    optimizer = keras.optimizers.AdamW(1e-3)
    optimizer.build(model.trainable_variables)
    huber = keras.losses.Huber()

    @tf.function
    def train_step(reports, delay):
        with tf.GradientTape() as tape:
            loss = huber(delay[:, None], model(reports, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_archive(folder, args.fault)
        batches = iter(approaches(folder))
        for _ in range(WARMUP):
            loss = train_step(*next(batches))
        tf.profiler.experimental.start(args.logdir)
        for step in range(RECORDED):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                loss = train_step(*next(batches))
        tf.profiler.experimental.stop()
        del batches
    print(f"loss {float(loss):.3f}")


if __name__ == "__main__":
    main()
