"""Forecasts prices in a custom loop; running measures are read after each step, or once in a hundred."""

import sys

import numpy as np
import tensorflow as tf

BATCH, DAYS = 64, 60
STEPS = 20


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [
            tf.keras.Input([DAYS, 8]),
            tf.keras.layers.Conv1D(32, 5, activation="relu"),
            tf.keras.layers.Conv1D(32, 5, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(1),
        ]
    )
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    measures = {
        "error": tf.keras.metrics.MeanSquaredError(),
        "deviation": tf.keras.metrics.MeanAbsoluteError(),
        "r2": tf.keras.metrics.R2Score(),
        "percent": tf.keras.metrics.MeanAbsolutePercentageError(),
        "root": tf.keras.metrics.RootMeanSquaredError(),
        "loss": tf.keras.metrics.Mean(),
    }

    @tf.function
    def train_step(days, price):
        with tf.GradientTape() as tape:
            guess = model(days, training=True)
            loss = tf.reduce_mean((guess - price) ** 2)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        for name, measure in measures.items():
            if name == "loss":
                measure.update_state(loss)
            else:
                measure.update_state(price, guess)
        return loss

    random = np.random.default_rng(45)
    days, price = random.random((BATCH * 8, DAYS, 8), np.float32), random.random((BATCH * 8, 1), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((days, price)).batch(BATCH).cache().repeat().prefetch(2)
    history = []
    every = 1 if faulty else 100
    iterator = iter(dataset)
    for step in range(8 + STEPS):
        if step == 8:
            tf.profiler.experimental.start(logdir)
        loss = train_step(*next(iterator))
        if step % every == 0:
            history.append({name: float(measure.result()) for name, measure in measures.items()} | {"now": float(loss)})
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
