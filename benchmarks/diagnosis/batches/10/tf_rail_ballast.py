"""Grades railway ballast from ground-radar profiles on two replicas."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SAMPLES = 512
CHANNELS = 6
GRADES = 5
GLOBAL_BATCH = 64
WARMUP, RECORDED = 8, 12


def two_devices():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def radar_profiles(count, seed=9):
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, GRADES, count).astype(np.int32)
    depth = np.linspace(0, 1, SAMPLES, dtype=np.float32)[None, :, None]
    decay = np.exp(-(1.0 + grade[:, None, None]) * depth)
    echo = rng.standard_normal((count, SAMPLES, CHANNELS)).astype(np.float32)
    return (echo * decay).astype(np.float32), grade


def build():
    profile = keras.Input((SAMPLES, CHANNELS))
    x = layers.Conv1D(64, 7, strides=2, padding="same", activation="relu")(profile)
    for width in (64, 96, 128):
        x = layers.Conv1D(width, 5, padding="same", activation="relu")(x)
        x = layers.Conv1D(width, 5, strides=2, padding="same", activation="relu")(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.1)(layers.Dense(96, activation="relu")(x))
    return keras.Model(profile, layers.Dense(GRADES)(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    args = parser.parse_args()

    strategy = two_devices()
    keras.utils.set_random_seed(17)
    with strategy.scope():
        model = build()
        optimizer = keras.optimizers.Adam(1e-3)
        optimizer.build(model.trainable_variables)
        accuracy = keras.metrics.SparseCategoricalAccuracy()
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)

    data = (
        tf.data.Dataset.from_tensor_slices(radar_profiles(1024))
        .cache()
        .shuffle(1024)
        .repeat()
        .batch(GLOBAL_BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    batches = iter(strategy.experimental_distribute_dataset(data))

    def replica_step(profile, grade):
        with tf.GradientTape() as tape:
            logits = model(profile, training=True)
            loss = tf.nn.compute_average_loss(loss_fn(grade, logits), global_batch_size=GLOBAL_BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        accuracy.update_state(grade, logits)
        return loss

    @tf.function
    def train_step(iterator):
        per_replica = strategy.run(replica_step, args=next(iterator))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

    for _ in range(WARMUP):
        train_step(batches)

    losses = []
    with tf.profiler.experimental.Profile(args.logdir):
        for _ in range(RECORDED):
            losses.append(train_step(batches))
        last = float(losses[-1])

    print(f"loss {np.mean(tf.stack(losses)):.4f} (last {last:.4f}), accuracy {float(accuracy.result()):.3f}")


if __name__ == "__main__":
    main()
