import os

import keras
import numpy as np
import tensorflow as tf

GRID, FLAVOURS, POINTS = 50, 8, 400


class ObservableHistory(keras.callbacks.Callback):
    """Keeps the agreement with the data after each step of the fit."""

    def __init__(self):
        super().__init__()
        self.chi2 = []

    def on_epoch_end(self, epoch, logs=None):
        self.chi2.append(logs["loss"] / POINTS)
        if epoch % 200 == 0:
            print(epoch, self.chi2[-1])


class Convolution(keras.layers.Layer):
    """Observables from parton densities on a grid, by a fast-kernel table."""

    def __init__(self, table):
        super().__init__()
        self.table = tf.constant(table)

    def call(self, densities):
        return tf.einsum("bgf,gfp->bp", densities, self.table)


def chi2(data, predictions):
    return tf.reduce_sum((data - predictions) ** 2, axis=-1)


def main(epochs):
    rng = np.random.default_rng(0)
    grid = np.geomspace(1e-4, 1.0, GRID).astype("float32")[None, :, None]
    inputs = keras.layers.Input((GRID, 1))
    x = keras.layers.Lambda(lambda x: keras.ops.concatenate([x, keras.ops.log(x)], axis=-1))(inputs)
    x = keras.layers.Dense(25, "tanh")(x)
    x = keras.layers.Dense(20, "tanh")(x)
    densities = keras.layers.Dense(FLAVOURS)(x)
    table = rng.normal(size=(GRID, FLAVOURS, POINTS)).astype("float32") / 20
    model = keras.Model(inputs, Convolution(table)(densities))
    model.compile(keras.optimizers.Adam(1e-3), loss=chi2)
    data = rng.normal(size=(1, POINTS)).astype("float32")
    model.fit(grid, data, epochs=epochs, verbose=0, callbacks=[ObservableHistory()])


main(int(os.environ.get("STEPS", 900)))
