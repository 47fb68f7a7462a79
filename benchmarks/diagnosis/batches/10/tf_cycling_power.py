"""Fatigue of a cyclist from a minute of power-meter readings, exported as text by the head unit."""
import argparse
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

SECONDS = 60
TARGETS = 1
BATCH = 192
BLOCKS, WIDTH, HEADS = 4, 48, 4
WARMUP, RECORDED = 8, 10


def write_rides(folder, files=4, rows=1500, seed=8):
    rng = np.random.default_rng(seed)
    paths = []
    for i in range(files):
        watts = 180 + 60 * rng.standard_normal((rows, 1)) + 25 * rng.standard_normal((rows, SECONDS))
        fatigue = np.clip((watts.mean(1) - 100) / 200 + 0.05 * rng.standard_normal(rows), 0, 1)
        path = os.path.join(folder, f"ride_{i:02d}.csv")
        np.savetxt(path, np.column_stack([watts, fatigue]), fmt="%.2f", delimiter=",")
        paths.append(path)
    return paths


def parse(lines):
    columns = tf.io.decode_csv(lines, record_defaults=[[0.0]] * (SECONDS + TARGETS))
    watts = tf.stack(columns[:SECONDS], axis=-1)
    return (watts - 180.0) / 60.0, columns[-1]


def make_rides(paths, by_row):
    lines = tf.data.TextLineDataset(paths).shuffle(2000, seed=3).repeat()
    if by_row:
        return lines.map(parse).batch(BATCH, drop_remainder=True)
    lines = lines.batch(BATCH, drop_remainder=True)
    return lines.map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def make_model():
    inputs = keras.Input((SECONDS,))
    x = keras.layers.Reshape((SECONDS, 1))(inputs)
    x = keras.layers.Conv1D(WIDTH, 5, strides=2, padding="same")(x)
    for _ in range(BLOCKS):
        h = keras.layers.LayerNormalization()(x)
        h = keras.layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(h, h)
        x = keras.layers.Add()([x, h])
        h = keras.layers.LayerNormalization()(x)
        h = keras.layers.Dense(2 * WIDTH, activation="gelu")(h)
        x = keras.layers.Add()([x, keras.layers.Dense(WIDTH)(h)])
    x = keras.layers.GlobalAveragePooling1D()(x)
    outputs = keras.layers.Dense(1, activation="sigmoid")(x)
    return keras.Model(inputs, outputs)


def make_trainer(model, optimizer, split):
    variables = model.trainable_variables

    def loss_and_grads(x, y):
        with tf.GradientTape() as tape:
            error = model(x, training=True)[:, 0] - y
            loss = tf.reduce_mean(tf.square(error))
        return loss, tape.gradient(loss, variables)

    if split:
        compiled = tf.function(loss_and_grads)

        def train_step(x, y):
            loss, grads = compiled(x, y)
            grads = [tf.clip_by_norm(g, 1.0) for g in grads]
            optimizer.apply_gradients(zip(grads, variables))
            return loss

        return train_step

    @tf.function
    def train_step(x, y):
        loss, grads = loss_and_grads(x, y)
        grads = [tf.clip_by_norm(g, 1.0) for g in grads]
        optimizer.apply_gradients(zip(grads, variables))
        return loss

    return train_step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(7)
    folder = tempfile.mkdtemp(prefix="rides_")
    try:
        batches = iter(make_rides(write_rides(folder), by_row=args.fault))
        model = make_model()
        optimizer = keras.optimizers.Adam(1e-3)
        optimizer.build(model.trainable_variables)
        train_step = make_trainer(model, optimizer, split=args.fault)
        for _ in range(WARMUP):
            loss = train_step(*next(batches))
        print(f"after warm-up {loss.numpy():.4f}")
        with tf.profiler.experimental.Profile(args.logdir):
            for _ in range(RECORDED):
                loss = train_step(*next(batches))
            loss = loss.numpy()
        print(f"loss {loss:.4f}")
        del batches
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
