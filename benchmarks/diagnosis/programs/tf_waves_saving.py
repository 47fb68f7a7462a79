"""Forecasts waves with Keras fit; ModelCheckpoint saves after each batch, or after the epoch."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 64
STEPS = 14


def main(logdir, faulty):
    buoys = tf.keras.Input([48, 6])
    hidden = tf.keras.layers.Conv1D(48, 7, padding="causal", activation="relu")(buoys)
    hidden = tf.keras.layers.Conv1D(48, 7, padding="causal", dilation_rate=2, activation="relu")(hidden)
    heights = tf.keras.layers.Dense(24)(tf.keras.layers.GlobalMaxPooling1D()(hidden))
    model = tf.keras.Model(buoys, heights)
    model.compile("adam", "huber", jit_compile=False)
    random = np.random.default_rng(46)
    measured, to_come = random.random((BATCH * 10, 48, 6), np.float32), random.random((BATCH * 10, 24), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((measured, to_come)).batch(BATCH).cache().repeat().prefetch(2)
    keep = tf.keras.callbacks.ModelCheckpoint(
        "latest.weights.h5", save_weights_only=True, save_freq=1 if faulty else "epoch"
    )
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(9, 8 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=12 + STEPS, verbose=0, callbacks=[keep, profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
