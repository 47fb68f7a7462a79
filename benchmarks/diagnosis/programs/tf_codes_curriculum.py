"""Reads bar codes; the loss of each step is a new object with its own softness, or one with a variable inside."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 48
STEPS = 12


class Softened:
    """Cross-entropy with softened labels."""

    def __init__(self, softness):
        self.softness = softness

    def __call__(self, digits, guess):
        wanted = tf.one_hot(digits, 10) * (1 - self.softness) + self.softness / 10
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, guess))


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [tf.keras.Input([95]), *(tf.keras.layers.Dense(384, "relu") for _ in range(3)), tf.keras.layers.Dense(10)]
    )
    optimizer = tf.keras.optimizers.SGD(0.05, momentum=0.9)
    optimizer.build(model.trainable_variables)

    @tf.function
    def fit_batch(bars, digits, criterion):
        with tf.GradientTape() as tape:
            loss = criterion(digits, model(bars, training=True))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    random = np.random.default_rng(47)
    bars, digits = random.random((BATCH * 8, 95), np.float32), random.integers(0, 10, BATCH * 8)
    dataset = tf.data.Dataset.from_tensor_slices((bars, digits)).repeat().batch(BATCH).prefetch(2)
    softness = tf.Variable(0.2)
    shared = Softened(softness)
    batches = dataset.as_numpy_iterator()
    for step in range(6 + STEPS):
        if step == 6:
            tf.profiler.experimental.start(logdir)
        some, right = next(batches)
        now = 0.2 * 0.99**step
        softness.assign(now)
        fit_batch(tf.constant(some), tf.constant(right), Softened(now) if faulty else shared)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
