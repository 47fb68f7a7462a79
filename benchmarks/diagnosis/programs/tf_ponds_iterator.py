"""Learns the health of ponds from samples of water; the loop asks one iterator for batches, or a new one each step."""

import sys

import numpy as np
import tensorflow as tf

SAMPLES, BATCH = 6000, 128
STEPS = 12


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [tf.keras.Input([64]), *(tf.keras.layers.Dense(384, "gelu") for _ in range(4)), tf.keras.layers.Dense(5)]
    )
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    cost = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(water, health):
        with tf.GradientTape() as tape:
            loss = cost(health, model(water, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    random = np.random.default_rng(72)
    water, health = random.random((SAMPLES, 64), np.float32), random.integers(0, 5, SAMPLES)
    dataset = tf.data.Dataset.from_tensor_slices((water, health)).shuffle(SAMPLES).repeat().batch(BATCH).prefetch(2)
    batches = iter(dataset)
    for step in range(8 + STEPS):
        if step == 8:
            tf.profiler.experimental.start(logdir)
        samples, found = next(iter(dataset) if faulty else batches)
        train_step(samples, found)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
