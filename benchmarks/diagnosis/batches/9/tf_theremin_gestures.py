"""Classifies the gestures of theremin players from the two antennas, on two replicas.

    python tf_theremin_gestures.py LOGDIR
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

GESTURES = 9
SAMPLES = 256
CHANNELS = 12
BATCH = 40


def record_session(count=880):
    rng = np.random.default_rng(31)
    gesture = rng.integers(0, GESTURES, count)
    time = np.linspace(0, 1, SAMPLES, dtype=np.float32)
    pitch = np.sin(2 * np.pi * (2 + gesture[:, None]) * time)[..., None]
    noise = rng.normal(0, 0.4, (count, SAMPLES, CHANNELS)).astype(np.float32)
    return (pitch + noise).astype(np.float32), gesture.astype(np.int32)


def residual(x, filters, dilation):
    y = layers.Conv1D(filters, 5, padding="same", dilation_rate=dilation, activation="relu")(x)
    y = layers.Conv1D(filters, 1)(y)
    return layers.LayerNormalization()(x + y)


def make_model():
    inputs = keras.Input((SAMPLES, CHANNELS))
    x = layers.Conv1D(64, 7, padding="same", activation="relu")(inputs)
    for dilation in (1, 2, 4, 8):
        x = residual(x, 64, dilation)
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dense(128, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(GESTURES)(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true", help="no effect")
    args = parser.parse_args()
    keras.utils.set_random_seed(12)

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    x, y = record_session()
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    dataset = (tf.data.Dataset.from_tensor_slices((x, y))
               .shuffle(len(x), seed=6)
               .batch(BATCH, drop_remainder=True)
               .prefetch(tf.data.AUTOTUNE)
               .with_options(options))

    with strategy.scope():
        model = make_model()
        model.compile(
            optimizer=keras.optimizers.Adam(2e-3),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(8, 18))
    model.fit(dataset, epochs=1, callbacks=[board], verbose=2)


if __name__ == "__main__":
    main()
