"""Classifies leaves with Keras fit, compiled or with run_eagerly left on from a debugging session."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 32
STEPS = 10


def main(logdir, faulty):
    leaves = tf.keras.Input([24, 24, 3])
    hidden = tf.keras.layers.Conv2D(12, 3, padding="same")(leaves)
    for _ in range(3):
        inner = tf.keras.layers.BatchNormalization()(hidden)
        inner = tf.keras.layers.ReLU()(inner)
        hidden = tf.keras.layers.Add()([hidden, tf.keras.layers.Conv2D(12, 3, padding="same")(inner)])
    species = tf.keras.layers.Dense(30)(tf.keras.layers.GlobalAveragePooling2D()(hidden))
    model = tf.keras.Model(leaves, species)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"], run_eagerly=faulty, jit_compile=False)
    random = np.random.default_rng(23)
    photos, names = random.random((BATCH * 10, 24, 24, 3), np.float32), random.integers(0, 30, BATCH * 10)
    dataset = tf.data.Dataset.from_tensor_slices((photos, names)).batch(BATCH).cache().repeat().prefetch(2)
    model.fit(dataset, steps_per_epoch=5, verbose=0)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(6, 5 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=8 + STEPS, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
