"""Keras adapts a layer to the data for some seconds, batch by batch, before it trains."""

from __future__ import annotations

import sys

import numpy as np
import tensorflow as tf

ROWS = 4000
data = np.random.default_rng(0).normal(size=(ROWS, 64)).astype("float32")
layer = tf.keras.layers.Normalization()
layer.adapt(tf.data.Dataset.from_tensor_slices(data).batch(4))
model = tf.keras.Sequential([layer, tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(data, data[:, :1], epochs=int(sys.argv[1]) if len(sys.argv) > 1 else 20, batch_size=32, verbose=0)
