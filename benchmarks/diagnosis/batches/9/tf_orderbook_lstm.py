"""Next-move prediction from limit order book windows."""
import argparse
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LEVELS, WINDOW, BATCH, DAYS, TICKS = 10, 50, 96, 6, 4000
FEATURES = 4 * LEVELS
WARMUP, RECORDED = 6, 12


def write_days(folder, rng):
    for day in range(DAYS):
        mid = 100 + np.cumsum(rng.normal(0, 0.01, (TICKS, 1)), 0)
        gap = np.cumsum(rng.gamma(2, 0.005, (TICKS, LEVELS)), 1)
        size = rng.gamma(2, 50, (TICKS, 2 * LEVELS))
        book = np.concatenate([mid - gap, mid + gap, size], 1).astype(np.float32)
        move = np.sign(np.roll(mid[:, 0], -10) - mid[:, 0]).astype(np.int32) + 1
        np.savez(folder / f"day{day}.npz", book=book, move=move)


def read_days(folder):
    days = [np.load(path) for path in sorted(folder.glob("*.npz"))]
    return np.stack([d["book"] for d in days]), np.stack([d["move"] for d in days])


def smooth(book, rate=0.1):
    level = book[0]
    rows = []
    for row in book:
        level = level + rate * (row - level)
        rows.append(row - level)
    return np.stack(rows)


def scale(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-6)


def windows_by_generator(book, move):
    rng = np.random.default_rng(1)

    def generate():
        while True:
            day, start = rng.integers(DAYS), rng.integers(TICKS - WINDOW)
            window = book[day, start : start + WINDOW]
            yield scale(smooth(window)), move[day, start + WINDOW - 1]

    signature = (tf.TensorSpec((WINDOW, FEATURES), tf.float32), tf.TensorSpec((), tf.int32))
    return tf.data.Dataset.from_generator(generate, output_signature=signature).batch(BATCH)


def windows_by_gather(book, move):
    days = tf.constant(np.stack([scale(smooth(day)) for day in book]))
    move = tf.constant(move)

    def gather(_):
        day = tf.random.uniform([BATCH], 0, DAYS, tf.int32)
        start = tf.random.uniform([BATCH], 0, TICKS - WINDOW, tf.int32)
        ticks = start[:, None] + tf.range(WINDOW)[None]
        rows = tf.stack([tf.broadcast_to(day[:, None], tf.shape(ticks)), ticks], -1)
        return tf.gather_nd(days, rows), tf.gather_nd(move, rows[:, -1])

    return tf.data.Dataset.counter().map(gather, num_parallel_calls=2).prefetch(4)


def make_model():
    return keras.Sequential(
        [
            keras.Input((WINDOW, FEATURES)),
            layers.Conv1D(48, 3, padding="causal", activation="relu"),
            layers.LSTM(160, return_sequences=True),
            layers.LSTM(128),
            layers.Dense(64, activation="relu"),
            layers.Dense(3),
        ]
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(4)
    with tempfile.TemporaryDirectory() as folder:
        write_days(pathlib.Path(folder), np.random.default_rng(0))
        book, move = read_days(pathlib.Path(folder))
    windows = windows_by_generator if args.fault else windows_by_gather
    batches = iter(windows(book, move))
    histogram_every = 1 if args.fault else 200

    model = make_model()
    optimizer = keras.optimizers.Adam(1e-3, clipnorm=1.0)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    writer = tf.summary.create_file_writer(args.logdir)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss, gradients

    def run(first, count):
        for step in range(first, first + count):
            x, y = next(batches)
            loss, gradients = train_step(x, y)
            with writer.as_default(step=step):
                tf.summary.scalar("loss", loss)
                if step % histogram_every == 0:
                    for variable, gradient in zip(model.trainable_variables, gradients):
                        tf.summary.histogram(f"weight/{variable.path}", variable)
                        tf.summary.histogram(f"gradient/{variable.path}", gradient)
        return float(loss)

    run(0, WARMUP)
    with tf.profiler.experimental.Profile(args.logdir):
        loss = run(WARMUP, RECORDED)
    writer.close()
    print("loss", loss)


if __name__ == "__main__":
    main()
