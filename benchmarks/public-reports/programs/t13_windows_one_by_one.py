import os

import keras
import numpy as np
import tensorflow as tf

PAST, FEATURES = 48, 6


def windows(series, target):
    data = tf.data.Dataset.from_tensor_slices((series, target))
    data = data.window(PAST, shift=1, drop_remainder=True)
    data = data.flat_map(lambda x, y: tf.data.Dataset.zip((x.batch(PAST), y.batch(PAST))))
    return data.map(lambda x, y: (x, y[-1])).repeat().batch(64).prefetch(tf.data.AUTOTUNE)


def main():
    rng = np.random.default_rng(0)
    series = rng.normal(size=(20_000, FEATURES)).astype("float32").cumsum(0)
    target = np.roll(series[:, 0], -1)
    model = keras.Sequential(
        [
            keras.layers.Input((PAST, FEATURES)),
            keras.layers.Flatten(),
            keras.layers.Dense(64, "relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    epochs = int(os.environ.get("STEPS", 2000)) // 100
    model.fit(windows(series, target), steps_per_epoch=100, epochs=epochs, verbose=2)


main()
