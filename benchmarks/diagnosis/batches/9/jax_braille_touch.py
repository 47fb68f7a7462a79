"""Reads braille from the pressure mat of a robot finger: Keras on JAX.

    python jax_braille_touch.py LOGDIR
"""
import os

os.environ["KERAS_BACKEND"] = "jax"
import argparse

import jax
import keras
import numpy as np
from keras import layers

CELLS = 64             # six dots
FRAMES = 32
MAT = 12 * 8
BATCH = 24


def stroke(count=576):
    """Pressure while the finger slides over one cell."""
    rng = np.random.default_rng(14)
    cell = rng.integers(0, CELLS, count)
    dots = ((cell[:, None] >> np.arange(6)) & 1).astype(np.float32)
    spread = rng.random((6, FRAMES * MAT), dtype=np.float32) ** 4
    pressure = dots @ spread + rng.normal(0, 0.3, (count, FRAMES * MAT))
    return pressure.reshape(count, FRAMES, MAT).astype(np.float32), cell.astype(np.int32)


def make_model():
    inputs = keras.Input((FRAMES, MAT))
    x = layers.GaussianNoise(0.05)(inputs)
    x = layers.Dense(192)(x)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(6, 32, dropout=0.1)(y, y)
        y = layers.LayerNormalization()(x)
        x = x + layers.Dense(192)(layers.Dense(512, activation="silu")(y))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(CELLS)(x))


class JaxProfile(keras.callbacks.Callback):
    """Records batches first..last of the training."""

    def __init__(self, logdir, first, last):
        super().__init__()
        self.logdir, self.first, self.last = logdir, first, last

    def on_train_batch_begin(self, batch, logs=None):
        if batch == self.first:
            jax.profiler.start_trace(self.logdir)

    def on_train_batch_end(self, batch, logs=None):
        if batch == self.last:
            jax.profiler.stop_trace()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true", help="no effect")
    args = parser.parse_args()
    keras.utils.set_random_seed(6)

    x, y = stroke()
    model = make_model()
    model.compile(
        optimizer=keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(1e-3, 400)),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["sparse_categorical_accuracy"],
    )
    model.fit(x, y, batch_size=BATCH, epochs=1, verbose=2, callbacks=[JaxProfile(args.logdir, 10, 21)])


if __name__ == "__main__":
    main()
