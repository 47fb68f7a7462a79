"""Sorts songs by mood from filter banks; the filters run over every batch again in each epoch, or once."""

import sys

import numpy as np
import tensorflow as tf

SONGS, BATCH = 256, 32
SAMPLES, BANDS = 4096, 96
STEPS = 14


def main(logdir, faulty):
    random = np.random.default_rng(31)
    banks = tf.constant(random.normal(0, 0.05, (2049, BANDS)).astype("float32"))
    model = tf.keras.Sequential(
        [
            tf.keras.Input([BANDS]),
            tf.keras.layers.Dense(1024, activation="relu"),
            tf.keras.layers.Dense(1024, activation="relu"),
            tf.keras.layers.Dense(6),
        ]
    )
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)

    def filtered(sound, mood):
        spectrum = tf.abs(tf.signal.rfft(sound))
        for _ in range(4):
            sound = tf.signal.irfft(tf.cast(spectrum, tf.complex64))
            spectrum = tf.abs(tf.signal.rfft(sound * 0.9))
        return tf.math.log1p(spectrum @ banks), mood

    @tf.function
    def train_step(bands, mood):
        with tf.GradientTape() as tape:
            loss = loss_fn(mood, model(bands, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    sounds, moods = random.normal(0, 1, (SONGS, SAMPLES)).astype("float32"), random.integers(0, 6, SONGS)
    dataset = tf.data.Dataset.from_tensor_slices((sounds, moods)).batch(BATCH)
    dataset = dataset.map(filtered, num_parallel_calls=tf.data.AUTOTUNE)
    if not faulty:
        dataset = dataset.cache()
    batches = iter(dataset.repeat().prefetch(tf.data.AUTOTUNE))

    for _ in range(12):
        train_step(*next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("mood", step_num=number, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
