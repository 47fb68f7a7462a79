"""Estimates lake levels; a CheckpointManager saves model and optimizer in each step of the loop, or in every hundredth."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 64
STEPS = 12


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [
            tf.keras.Input([60, 10]),
            tf.keras.layers.Conv1D(64, 7, activation="relu"),
            tf.keras.layers.Conv1D(64, 7, activation="relu"),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(1),
        ]
    )
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model, optimizer=optimizer), "kept", max_to_keep=2)

    @tf.function
    def train_step(levels, later):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(levels, training=True) - later) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    random = np.random.default_rng(67)
    levels, later = random.random((BATCH * 8, 60, 10), np.float32), random.random((BATCH * 8, 1), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((levels, later)).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    batches = iter(dataset)
    for step in range(1, 5 + STEPS + 1):
        if step == 6:
            tf.profiler.experimental.start(logdir)
        train_step(*next(batches))
        if step % (1 if faulty else 100) == 0:
            manager.save()
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
