"""Predicts visits with attention; histograms of all weights go to TensorBoard after each step, or after a hundred."""

import sys

import numpy as np
import tensorflow as tf

BATCH, LENGTH, WIDTH = 32, 30, 48
STEPS = 14


def main(logdir, faulty):
    visits = tf.keras.Input([LENGTH, WIDTH])
    hidden = visits
    for _ in range(2):
        hidden = tf.keras.layers.LayerNormalization()(
            hidden + tf.keras.layers.MultiHeadAttention(4, 12)(hidden, hidden)
        )
        hidden = hidden + tf.keras.layers.Dense(WIDTH)(tf.keras.layers.Dense(96, "relu")(hidden))
    model = tf.keras.Model(visits, tf.keras.layers.Dense(1)(hidden[:, -1]))
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(visits, next_visit):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(visits, training=True) - next_visit) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    random = np.random.default_rng(54)
    before, after = random.random((BATCH * 8, LENGTH, WIDTH), np.float32), random.random((BATCH * 8, 1), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((before, after)).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    writer = tf.summary.create_file_writer("summaries")
    every = 1 if faulty else 100
    with writer.as_default():
        for step, (visits, next_visit) in enumerate(dataset):
            if step == 6:
                tf.profiler.experimental.start(logdir)
            if step == 6 + STEPS:
                break
            loss = train_step(visits, next_visit)
            if step % every == 0:
                tf.summary.scalar("loss", loss, step=step)
                for variable in model.trainable_variables:
                    tf.summary.histogram(variable.path, variable, step=step)
                writer.flush()
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
