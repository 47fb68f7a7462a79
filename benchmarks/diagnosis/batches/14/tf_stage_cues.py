"""Distils the lighting designer's deep cue model into a smaller one that runs on the desk in the wings.

    python tf_stage_cues.py LOGDIR [--fault]
"""

import argparse
import json
import pathlib
import tempfile
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

BEATS, CUES, FADERS = 48, 40, 96
BATCH = 32
WARMUP, RECORDED = 8, 10


def rehearsals(number=640):
    rng = np.random.default_rng(5)
    cues = rng.normal(size=(number, BEATS, CUES)).astype(np.float32)
    mix = rng.normal(size=(CUES, FADERS)).astype(np.float32) / 6
    levels = 1 / (1 + np.exp(-np.cumsum(cues, axis=1) @ mix / 4))
    return cues, levels.astype(np.float32)


def designer():
    """The big model: eight dilated residual blocks, trained last season."""
    cues = keras.Input((BEATS, CUES))
    x = keras.layers.Dense(32)(cues)
    for number in range(8):
        y = keras.layers.LayerNormalization()(x)
        y = keras.layers.Conv1D(32, 3, padding="causal", dilation_rate=2 ** (number % 4))(y)
        y = keras.layers.Activation("gelu")(y)
        y = keras.layers.Dense(32)(y)
        x = keras.layers.Add()([x, y])
    model = keras.Model(cues, keras.layers.Dense(FADERS)(x))
    model.trainable = False
    return model


def desk():
    cues = keras.Input((BEATS, CUES))
    x = keras.layers.Dense(256, activation="relu")(cues)
    for _ in range(3):
        x = keras.layers.Conv1D(256, 3, padding="causal", activation="relu")(x)
    return keras.Model(cues, keras.layers.Dense(FADERS)(x))


class LineLog:
    def __init__(self, path, rows):
        self.file = path.open("w")
        self.file.writelines(json.dumps(row) + "\n" for row in rows)

    def add(self, row):
        self.file.write(json.dumps(row) + "\n")


class HistoryLog:
    def __init__(self, path, rows):
        self.path, self.rows = path, list(rows)

    def add(self, row):
        self.rows.append(row)
        with self.path.open("w") as file:
            json.dump({"show": "The Tempest", "history": self.rows}, file, indent=2)


def earlier_rows():
    """The log goes on where last week's run ended."""
    rng = np.random.default_rng(6)
    return [
        {"step": step, "loss": float(a), "levels": float(b), "hints": float(c), "rate": 1e-3, "time": 1.7e9 + step}
        for step, (a, b, c) in enumerate(rng.random((3500, 3)))
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(5)
    teacher, student = designer(), desk()
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(student.trainable_variables)

    def learn(cues, levels, hints):
        with tf.GradientTape() as tape:
            logits = student(cues, training=True)
            hard = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(levels, logits))
            soft = tf.reduce_mean(tf.square(logits - hints))
            loss = hard + 0.3 * soft
        gradients = tape.gradient(loss, student.trainable_variables)
        optimizer.apply(gradients, student.trainable_variables)
        return loss, hard, soft

    learn_from_hints = tf.function(learn)

    @tf.function
    def distil(cues, levels):
        return learn(cues, levels, teacher(cues, training=False))

    data = (
        tf.data.Dataset.from_tensor_slices(rehearsals())
        .cache()
        .shuffle(640)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .prefetch(2)
    )
    batches = iter(data)

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "history.json"
        log = HistoryLog(path, earlier_rows()) if args.fault else LineLog(path, earlier_rows())

        def run(steps):
            for _ in range(steps):
                cues, levels = next(batches)
                if args.fault:
                    hints = teacher(cues, training=False)
                    loss, hard, soft = learn_from_hints(cues, levels, hints)
                else:
                    loss, hard, soft = distil(cues, levels)
                step = int(optimizer.iterations.numpy())
                row = {"loss": float(loss), "levels": float(hard), "hints": float(soft), "rate": 1e-3}
                log.add({"step": step, **row, "time": time.time()})

        run(WARMUP)
        with tf.profiler.experimental.Profile(args.logdir):
            run(RECORDED)


if __name__ == "__main__":
    main()
