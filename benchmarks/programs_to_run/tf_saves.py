"""A custom loop of TensorFlow that saves the model and the optimizer every 25
steps.
"""

import sys
import tempfile
import time

import numpy as np
import tensorflow as tf
from own_clock import clocked, slower, started

EVERY = 25
model = tf.keras.Sequential(
    [
        tf.keras.Input([256]),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(2048, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(rows, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows, training=True) - targets) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def train(steps, folder):
    random = np.random.default_rng(0)
    rows = tf.constant(random.random((64, 256), dtype=np.float32))
    targets = tf.constant(random.random((64, 1), dtype=np.float32))
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    for step in range(steps):
        begin = time.perf_counter()
        loss = train_step(rows, targets)
        float(loss)
        slower(begin)
        started()
        if step % EVERY == EVERY - 1:
            with clocked("save"):
                manager.save()
            print(step + 1, float(loss), flush=True)


with tempfile.TemporaryDirectory() as folder:
    train(int(sys.argv[1]), folder)
