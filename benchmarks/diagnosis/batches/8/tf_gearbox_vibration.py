"""Gearbox condition from three-axis vibration windows: a small 1-D residual network."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LOGDIR = sys.argv[1]
WINDOW = 1024
CLASSES = 6
BATCH = 64


def synthesise(count, seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, CLASSES, count)
    t = np.arange(WINDOW, dtype=np.float32) / 12_800
    tone = (80 + 65 * label)[:, None] * t[None, :]
    phase = rng.uniform(0, 2 * np.pi, (count, 1, 3)).astype(np.float32)
    signal = np.sin(2 * np.pi * tone[:, :, None].astype(np.float32) + phase)
    signal += 0.7 * rng.standard_normal((count, WINDOW, 3), dtype=np.float32)
    return signal.astype(np.float32), label.astype(np.int32)


def augment(signal, label):
    shape = tf.shape(signal)
    gain = tf.random.uniform([shape[0], 1, 3], 0.8, 1.2)
    offset = tf.random.uniform([], 0, WINDOW, tf.int32)
    return tf.roll(signal * gain, offset, axis=1), label


def make_dataset(signal, label, training):
    ds = tf.data.Dataset.from_tensor_slices((signal, label))
    if training:
        ds = ds.shuffle(len(label), reshuffle_each_iteration=True)
    ds = ds.batch(BATCH, drop_remainder=training)
    if training:
        ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.prefetch(tf.data.AUTOTUNE)


def residual(x, width, stride):
    shortcut = layers.Conv1D(width, 1, strides=stride, use_bias=False)(x)
    y = layers.Conv1D(width, 7, strides=stride, padding="same", use_bias=False)(x)
    y = layers.BatchNormalization()(y)
    y = layers.ReLU()(y)
    y = layers.Conv1D(width, 7, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    return layers.ReLU()(layers.add([y, shortcut]))


def build_model():
    inputs = keras.Input((WINDOW, 3))
    x = layers.Conv1D(24, 15, strides=4, padding="same", activation="relu")(inputs)
    x = residual(x, 32, 2)
    x = residual(x, 64, 2)
    x = residual(x, 96, 2)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.2)(x)
    return keras.Model(inputs, layers.Dense(CLASSES)(x), name="gearbox")


def main():
    keras.utils.set_random_seed(11)
    train = make_dataset(*synthesise(1600, 1), training=True)
    valid = make_dataset(*synthesise(192, 2), training=False)

    model = build_model()
    model.compile(
        optimizer=keras.optimizers.AdamW(2e-3, weight_decay=1e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(
        train,
        validation_data=valid,
        epochs=1,
        verbose=2,
        callbacks=[
            keras.callbacks.TensorBoard(log_dir=LOGDIR, profile_batch=(10, 20)),
            keras.callbacks.TerminateOnNaN(),
        ],
    )


if __name__ == "__main__":
    main()
