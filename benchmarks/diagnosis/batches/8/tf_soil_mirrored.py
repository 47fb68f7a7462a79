"""Organic carbon of soil from its infrared spectrum, on two replicas with gradient accumulation."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

BANDS = 900
MICRO_BATCHES = 4
MICRO_SIZE = 24  # a replica and micro-batch
WARMUP, RECORDED = 5, 10


def spectra(count):
    rng = np.random.default_rng(13)
    carbon = rng.gamma(2.0, 1.0, (count, 1)).astype(np.float32)
    bands = np.linspace(0, 12, BANDS, dtype=np.float32)
    curve = np.sin(bands)[None] * carbon + 0.3 * rng.standard_normal((count, BANDS), dtype=np.float32)
    return curve.astype(np.float32), carbon


def build_model():
    return keras.Sequential(
        [
            keras.Input((BANDS,)),
            layers.Dense(1536, activation="gelu"),
            layers.Dense(1536, activation="gelu"),
            layers.Dense(1024, activation="gelu"),
            layers.Dense(1),
        ]
    )


def main(logdir, fault):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    replicas = strategy.num_replicas_in_sync
    keras.utils.set_random_seed(2)

    dataset = (
        tf.data.Dataset.from_tensor_slices(spectra(4000))
        .shuffle(4000)
        .repeat()
        .batch(replicas * MICRO_BATCHES * MICRO_SIZE, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    dataset = strategy.experimental_distribute_dataset(dataset)

    with strategy.scope():
        model = build_model()
        optimizer = keras.optimizers.SGD(1e-3, momentum=0.9)
        optimizer.build(model.trainable_variables)

    def replica_step(spectrum, carbon):
        context = tf.distribute.get_replica_context()
        variables = model.trainable_variables
        total, loss_sum = None, 0.0
        for x, y in zip(tf.split(spectrum, MICRO_BATCHES), tf.split(carbon, MICRO_BATCHES)):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y)) / MICRO_BATCHES
            gradients = tape.gradient(loss, variables)
            if fault:
                gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
            total = gradients if total is None else [a + g for a, g in zip(total, gradients)]
            loss_sum += loss
        # the optimizer sums over the replicas
        optimizer.apply_gradients([(g / replicas, v) for g, v in zip(total, variables)])
        return loss_sum

    @tf.function
    def train_step(batch):
        losses = strategy.run(replica_step, args=batch)
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

    batches = iter(dataset)
    for _ in range(WARMUP):
        loss = train_step(next(batches))
    print(f"loss {float(loss):.4f}")
    tf.profiler.experimental.start(logdir)
    for step in range(RECORDED):
        with tf.profiler.experimental.Trace("step", step_num=WARMUP + step, _r=1):
            loss = train_step(next(batches))
    tf.profiler.experimental.stop()
    print(f"loss {float(loss):.4f}")


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
