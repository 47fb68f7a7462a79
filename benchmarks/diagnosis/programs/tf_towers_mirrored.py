"""Trains copies of a model on two logical devices with MirroredStrategy; strategy.run is called by Python or compiled."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 64
STEPS = 10


def main(logdir, faulty):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.Input([128]), *(tf.keras.layers.Dense(512, "relu") for _ in range(4)), tf.keras.layers.Dense(1)]
        )
        optimizer = tf.keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)

    def replica_step(inputs):
        antennas, strength = inputs
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(antennas, training=True)[:, 0] - strength) ** 2) / BATCH
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def distributed_step(inputs):
        losses = strategy.run(replica_step, args=(inputs,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    step = distributed_step if faulty else tf.function(distributed_step)
    random = np.random.default_rng(52)
    antennas, strength = random.random((BATCH * 8, 128), np.float32), random.random(BATCH * 8, np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((antennas, strength)).batch(BATCH).cache().repeat().prefetch(2)
    batches = iter(strategy.experimental_distribute_dataset(dataset))
    for _ in range(5):
        step(next(batches))
    tf.profiler.experimental.start(logdir)
    for _ in range(STEPS):
        step(next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
