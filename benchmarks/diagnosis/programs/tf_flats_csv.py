"""Learns rents of flats from a CSV file; CsvDataset parses its text in each epoch, or once for a cache."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

FLATS, COLUMNS, BATCH = 3072, 48, 384
STEPS = 16


def batches_of(file, faulty):
    flats = tf.data.experimental.CsvDataset(str(file), [tf.float32] * (COLUMNS + 1), header=True).batch(BATCH)
    flats = flats.map(lambda rent, *columns: (tf.stack(columns, axis=1), rent), num_parallel_calls=tf.data.AUTOTUNE)
    if not faulty:
        flats = flats.cache()
    return flats.shuffle(FLATS // BATCH).repeat().prefetch(tf.data.AUTOTUNE)


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [tf.keras.Input([COLUMNS]), *(tf.keras.layers.Dense(192, "relu") for _ in range(3)), tf.keras.layers.Dense(1)]
    )
    optimizer = tf.keras.optimizers.SGD(1e-3, momentum=0.9)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(flats, rents):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(flats, training=True)[:, 0] - rents) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "flats.csv"
        names = ",".join(["rent", *(f"feature{number}" for number in range(COLUMNS))])
        table = np.random.default_rng(94).random((FLATS, COLUMNS + 1))
        np.savetxt(file, table, "%.6f", delimiter=",", header=names, comments="")
        batches = iter(batches_of(file, faulty))
        for step in range(20 + STEPS):
            if step == 20:
                tf.profiler.experimental.start(logdir)
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                train_step(*next(batches))
        tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
