"""Keras fit, whose input pipeline calls a Python function for each batch."""

import sys

import numpy as np
import tensorflow as tf
from step_times import tick

model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)])
model.compile(optimizer="sgd", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def slow_python(x):
    total = 0
    for value in range(100_000):
        total += value
    return x


def through_python(x, y):
    x = tf.py_function(slow_python, [x], tf.float32)
    x.set_shape([128, 256])
    return x, y


class Clock(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        tick()


features = np.random.rand(4096, 256).astype("float32")
labels = np.random.randint(0, 10, 4096)
dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(128, drop_remainder=True).repeat()
model.fit(dataset.map(through_python), steps_per_epoch=int(sys.argv[1]), verbose=0, callbacks=[Clock()])
