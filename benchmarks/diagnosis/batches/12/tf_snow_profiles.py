"""Danger level of dry slab avalanches from three days of weather at the station above the slope (5 minute values)."""

import argparse
import json
import os
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

TIMES, SENSORS = 864, 10
LEVELS = 5
DAYS = 1000
BATCH = 96


def station_days(seed=30):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, LEVELS, DAYS)
    walk = rng.normal(scale=0.1, size=(DAYS, TIMES, SENSORS)).cumsum(axis=1)
    walk[..., 0] += level[:, None] * np.linspace(0, 1, TIMES)
    return [{"day": i, "weather": w.round(3).tolist(), "level": int(d)} for i, (w, d) in enumerate(zip(walk, level))]


def from_records(records):
    def draw():
        rng = np.random.default_rng(2)
        while True:
            for i in rng.permutation(len(records)):
                yield records[i]["weather"], records[i]["level"]

    signature = (tf.TensorSpec((TIMES, SENSORS), tf.float32), tf.TensorSpec((), tf.int32))
    return tf.data.Dataset.from_generator(draw, output_signature=signature).batch(BATCH)


def from_arrays(records):
    weather = np.array([r["weather"] for r in records], np.float32)
    level = np.array([r["level"] for r in records], np.int32)
    data = tf.data.Dataset.from_tensor_slices((weather, level))
    return data.shuffle(len(records), seed=2).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)


class RunLog(keras.callbacks.Callback):
    """One line a batch; goes on where the last run of the season ended."""

    def __init__(self, path):
        super().__init__()
        self.file = Path(path).open("a", buffering=1)

    def on_train_batch_end(self, batch, logs=None):
        self.file.write(json.dumps({"batch": batch, **{k: float(v) for k, v in logs.items()}}) + "\n")

    def on_train_end(self, logs=None):
        self.file.close()


class RunHistory(keras.callbacks.Callback):
    def __init__(self, path, earlier):
        super().__init__()
        self.path = Path(path)
        self.history = earlier

    def on_train_batch_end(self, batch, logs=None):
        self.history.append({"batch": batch, **{k: float(v) for k, v in logs.items()}})
        with self.path.open("w") as file:
            json.dump(self.history, file, indent=1)


def season_so_far(batches=4500):
    rng = np.random.default_rng(1)
    return [{"batch": i, "accuracy": float(a), "loss": float(b)} for i, (a, b) in enumerate(rng.random((batches, 2)))]


def network():
    weather = keras.Input((TIMES, SENSORS))
    x = layers.Normalization(mean=0.0, variance=1.0)(weather)
    for width, stride in ((24, 4), (32, 2), (48, 2)):
        x = layers.Conv1D(width, 7, strides=stride, padding="same", activation="relu")(x)
        x = layers.Conv1D(width, 3, padding="same", activation="relu")(x)
        x = layers.LayerNormalization()(x)
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dense(64, activation="relu")(x)
    return keras.Model(weather, layers.Dense(LEVELS)(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    records = station_days()
    data = from_records(records) if args.fault else from_arrays(records)
    model = network()
    model.compile(
        optimizer=keras.optimizers.Adam(5e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    with tempfile.TemporaryDirectory() as folder:
        log = RunHistory(f"{folder}/run.json", season_so_far()) if args.fault else RunLog(f"{folder}/run.jsonl")
        board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(12, 21))
        model.fit(data, steps_per_epoch=24, epochs=1, callbacks=[log, board], verbose=0)


if __name__ == "__main__":
    main()
