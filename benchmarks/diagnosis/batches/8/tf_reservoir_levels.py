"""Water level of a reservoir for the next day: GRU encoder and decoder with scheduled sampling."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

HISTORY, HORIZON, INPUTS = 96, 24, 9
UNITS = 160
BATCH = 128
WARMUP, RECORDED = 9, 12


def hourly_series(hours):
    rng = np.random.default_rng(8)
    t = np.arange(hours, dtype=np.float32)
    level = np.sin(t / 24 * 2 * np.pi) + 0.5 * np.sin(t / 168 * 2 * np.pi)
    weather = rng.standard_normal((hours, INPUTS - 1)).astype(np.float32)
    level = level + 0.1 * np.cumsum(weather[:, 0]) / np.sqrt(t + 1)
    return np.concatenate([level[:, None], weather], axis=1).astype(np.float32)


def windows(series):
    def split(block):
        return block[:, :HISTORY], block[:, HISTORY:, :1]

    return (
        keras.utils.timeseries_dataset_from_array(
            series, None, sequence_length=HISTORY + HORIZON, batch_size=BATCH, shuffle=True, seed=6
        )
        .map(split, num_parallel_calls=tf.data.AUTOTUNE)
        .filter(lambda history, _: tf.equal(tf.shape(history)[0], BATCH))
        .repeat()
        .prefetch(tf.data.AUTOTUNE)
    )


class Forecaster(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = layers.GRU(UNITS, return_state=True)
        self.cell = layers.GRUCell(UNITS)
        self.head = layers.Dense(1)

    def call(self, history, target, teacher):
        _, state = self.encoder(history)
        previous = history[:, -1, :1]
        outputs = tf.TensorArray(tf.float32, size=HORIZON)
        for t in tf.range(HORIZON):
            hidden, state = self.cell(previous, state)
            guess = self.head(hidden)
            outputs = outputs.write(t, guess)
            forced = tf.random.uniform([BATCH, 1]) < teacher
            previous = tf.where(forced, target[:, t], guess)
        return tf.transpose(outputs.stack(), [1, 0, 2])


def main(logdir, fault):
    keras.utils.set_random_seed(21)
    model = Forecaster()
    model.encoder.build((BATCH, HISTORY, INPUTS))
    model.cell.build((BATCH, 1))
    model.head.build((BATCH, UNITS))
    optimizer = keras.optimizers.Adam(1e-3, clipnorm=1.0)
    huber = keras.losses.Huber()

    @tf.function
    def train_step(history, target, teacher):
        with tf.GradientTape() as tape:
            forecast = model.call(history, target, teacher)
            loss = huber(target, forecast)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    for step, (history, target) in enumerate(windows(hourly_series(8000))):
        if step == WARMUP:
            tf.profiler.experimental.start(logdir)
        if step == WARMUP + RECORDED:
            tf.profiler.experimental.stop()
            break
        teacher = max(0.2, round(1.0 - 0.003 * step, 2))
        if not fault:
            teacher = tf.constant(teacher, tf.float32)
        loss = train_step(history, target, teacher)
    print(f"step {step}: loss {float(loss):.4f}")


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv[2:])
