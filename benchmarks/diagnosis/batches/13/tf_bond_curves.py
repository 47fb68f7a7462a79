"""Predicts tomorrow's yield curve from sixty trading days with a small transformer, in a loop of its own."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras

DAYS, TENORS, BATCH, WIDTH = 60, 12, 48, 96
WARMUP, CAPTURED = 8, 10


def curves(days=4000, seed=6):
    rng = np.random.default_rng(seed)
    tenor = np.linspace(0.25, 30, TENORS)
    level = 3 + 0.02 * np.cumsum(rng.normal(size=days))
    slope = -1 + 0.02 * np.cumsum(rng.normal(size=days))
    bend = 0.5 + 0.02 * np.cumsum(rng.normal(size=days))
    decay = (1 - np.exp(-tenor / 2)) / (tenor / 2)
    table = level[:, None] + slope[:, None] * decay + bend[:, None] * (decay - np.exp(-tenor / 2))
    table += 0.01 * rng.normal(size=table.shape)
    return ((table - table.mean(0)) / table.std(0)).astype(np.float32)


def windows(table):
    history = np.lib.stride_tricks.sliding_window_view(table[:-1], DAYS, axis=0).transpose(0, 2, 1)
    data = tf.data.Dataset.from_tensor_slices((np.ascontiguousarray(history), table[DAYS:]))
    return data.shuffle(len(history), seed=9).repeat().batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def build():
    inputs = keras.Input((DAYS, TENORS))
    x = keras.layers.Dense(WIDTH)(inputs)
    place = keras.layers.Embedding(DAYS, WIDTH)(np.arange(DAYS)[None])
    x = x + place
    for _ in range(3):
        y = keras.layers.LayerNormalization()(x)
        x = x + keras.layers.MultiHeadAttention(4, WIDTH // 4)(y, y)
        y = keras.layers.LayerNormalization()(x)
        y = keras.layers.Dense(4 * WIDTH, activation="gelu")(y)
        x = x + keras.layers.Dense(WIDTH)(y)
    x = keras.layers.LayerNormalization()(x)[:, -1]
    return keras.Model(inputs, keras.layers.Dense(TENORS)(x))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.rate = keras.optimizers.schedules.CosineDecay(1e-3, 5000)
        self.optimizer = keras.optimizers.AdamW(self.rate, weight_decay=1e-4, global_clipnorm=1.0)
        self.optimizer.build(model.trainable_variables)
        self.total = tf.Variable(0.0, trainable=False)

    @tf.function(
        input_signature=[tf.TensorSpec((BATCH, DAYS, TENORS), tf.float32), tf.TensorSpec((BATCH, TENORS), tf.float32)]
    )
    def step(self, history, tomorrow):
        with tf.GradientTape() as tape:
            guess = self.model(history, training=True)
            loss = tf.reduce_mean(tf.square(guess - tomorrow))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        self.total.assign_add(loss)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    keras.utils.set_random_seed(4)

    source = iter(windows(curves()))
    trainer = Trainer(build())
    for _ in range(WARMUP):
        trainer.step(*next(source))
    with tf.profiler.experimental.Profile(args.logdir):
        for _ in range(CAPTURED):
            trainer.step(*next(source))
    print("mean loss:", round(float(trainer.total) / (WARMUP + CAPTURED), 4))


if __name__ == "__main__":
    main()
