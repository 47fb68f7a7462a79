"""Forecasts tides from a long series with Keras fit; windows are cut one by one with Dataset.window, or by the batch."""

import sys

import numpy as np
import tensorflow as tf

HOURS, LENGTH, BATCH = 40_000, 48, 64
STEPS = 16


def main(logdir, faulty):
    random = np.random.default_rng(61)
    series = np.sin(np.arange(HOURS) / 6).astype("float32") + random.normal(0, 0.1, HOURS).astype("float32")
    if faulty:
        dataset = tf.data.Dataset.from_tensor_slices(series).window(LENGTH + 1, shift=1, drop_remainder=True)
        dataset = dataset.flat_map(lambda window: window.batch(LENGTH + 1))
        dataset = dataset.map(lambda window: (window[:-1, None], window[-1])).batch(BATCH)
    else:
        firsts = tf.data.Dataset.range(HOURS - LENGTH - 1).batch(BATCH)
        whole = tf.constant(series)
        dataset = firsts.map(lambda first: tf.gather(whole, first[:, None] + tf.range(LENGTH + 1, dtype=tf.int64)))
        dataset = dataset.map(lambda windows: (windows[:, :-1, None], windows[:, -1]))
    model = tf.keras.Sequential(
        [
            tf.keras.Input([LENGTH, 1]),
            tf.keras.layers.Conv1D(64, 5, activation="relu"),
            tf.keras.layers.Conv1D(64, 5, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mae", jit_compile=False)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(13, 12 + STEPS), write_graph=False)
    dataset = dataset.repeat().prefetch(tf.data.AUTOTUNE)
    model.fit(dataset, steps_per_epoch=16 + STEPS, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
