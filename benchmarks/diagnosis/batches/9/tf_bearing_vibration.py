"""Classify the condition of roller bearings from two-axis vibration windows."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

WINDOW, AXES, CLASSES, BATCH = 1024, 2, 6, 64


def make_windows(rng, count):
    """Shaft tone plus a train of impacts whose rate depends on the defect."""
    label = rng.integers(0, CLASSES, count)
    t = np.arange(WINDOW, dtype=np.float32) / 12_000.0
    speed = rng.uniform(25, 32, (count, 1)).astype(np.float32)
    shaft = np.sin(2 * np.pi * speed * t)
    rate = (3.1 + 0.9 * label[:, None]) * speed
    impact = (np.sin(2 * np.pi * rate * t) > 0.97) * np.sin(2 * np.pi * 2900 * t)
    signal = np.stack([shaft + impact, 0.6 * shaft + 0.8 * impact], -1)
    signal += rng.normal(0, 0.3, signal.shape)
    return signal.astype(np.float32), label.astype(np.int32)


def augment(x, y):
    x = tf.roll(x, tf.random.uniform([], 0, WINDOW, tf.int32), axis=1)
    gain = tf.random.uniform([tf.shape(x)[0], 1, 1], 0.8, 1.2)
    return x * gain, y


def make_dataset(x, y):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    ds = ds.shuffle(len(x), seed=1).repeat().batch(BATCH, drop_remainder=True)
    return ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def block(x, filters, stride):
    skip = layers.Conv1D(filters, 1, strides=stride)(x)
    x = layers.Conv1D(filters, 9, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv1D(filters, 9, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(layers.add([x, skip]))


def make_model():
    inputs = keras.Input((WINDOW, AXES))
    x = layers.Conv1D(24, 31, strides=4, padding="same")(inputs)
    for filters, stride in ((24, 1), (48, 2), (96, 2)):
        x = block(x, filters, stride)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.2)(x)
    return keras.Model(inputs, layers.Dense(CLASSES)(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    keras.utils.set_random_seed(3)
    x, y = make_windows(np.random.default_rng(0), 3000)
    train, valid = make_dataset(x[:2800], y[:2800]), (x[2800:], y[2800:])

    model = make_model()
    model.compile(
        keras.optimizers.Adam(1e-4),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    # a few gentle steps before the full rate
    model.fit(train, steps_per_epoch=12, epochs=1, verbose=0)
    model.optimizer.learning_rate = 1e-3
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=2)
    history = model.fit(
        train, steps_per_epoch=24, epochs=1, validation_data=valid, callbacks=[board], verbose=0
    )
    print("validation accuracy", round(history.history["val_accuracy"][-1], 3))


if __name__ == "__main__":
    main()
