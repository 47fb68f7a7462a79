"""Predicts house prices in a custom loop that keeps checkpoints, every step or every hundred."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

BATCH = 512
STEPS = 14


def main(logdir, faulty):
    model = tf.keras.Sequential([tf.keras.Input([128])])
    for _ in range(4):
        model.add(tf.keras.layers.Dense(320, activation="swish"))
    model.add(tf.keras.layers.Dense(1))
    optimizer = tf.keras.optimizers.RMSprop(1e-3)
    optimizer.build(model.trainable_variables)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    every = 1 if faulty else 100

    @tf.function
    def train_step(houses, prices):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(houses, training=True)[:, 0] - prices) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    random = np.random.default_rng(15)
    houses, prices = random.random((BATCH * 6, 128), np.float32), random.random(BATCH * 6, np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((houses, prices)).batch(BATCH).cache().repeat().prefetch(2)
    batches = iter(dataset)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint.write(str(Path(folder) / "first"))
        for _ in range(8):
            train_step(*next(batches))
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=1)
        tf.profiler.experimental.start(logdir, options=options)
        for number in range(1, STEPS + 1):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                train_step(*next(batches))
                if number % every == 0:
                    checkpoint.write(str(Path(folder) / "latest"))
        tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
