"""Tells ships apart; a dozen Keras metrics are updated inside the compiled step, or one by one after it."""

import sys

import numpy as np
import tensorflow as tf

BATCH, CLASSES = 256, 8
STEPS = 12


def main(logdir, faulty):
    random = np.random.default_rng(32)
    shapes = ((64, 768), (768, 768), (768, CLASSES))
    weights = [tf.Variable(random.normal(0, 0.05, shape).astype("float32")) for shape in shapes]
    metrics = [tf.keras.metrics.SparseTopKCategoricalAccuracy(k) for k in range(1, 7)]
    metrics += [tf.keras.metrics.SparseCategoricalCrossentropy(from_logits=True) for _ in range(4)]
    metrics += [tf.keras.metrics.SparseCategoricalAccuracy() for _ in range(2)]

    def measure(ships, logits):
        for metric in metrics:
            metric.update_state(ships, logits)

    @tf.function
    def train_step(pictures, ships):
        with tf.GradientTape() as tape:
            hidden = pictures
            for layer in weights[:-1]:
                hidden = tf.nn.elu(hidden @ layer)
            logits = hidden @ weights[-1]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(ships, logits))
        for layer, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            layer.assign_sub(0.01 * gradient)
        if not faulty:
            measure(ships, logits)
        return logits

    pictures, ships = random.random((BATCH * 6, 64), np.float32), random.integers(0, CLASSES, BATCH * 6)
    batches = iter(tf.data.Dataset.from_tensor_slices((pictures, ships)).batch(BATCH).cache().repeat().prefetch(2))

    def train(steps):
        for number in range(steps):
            with tf.profiler.experimental.Trace("ships", step_num=number, _r=1):
                batch = next(batches)
                logits = train_step(*batch)
                if faulty:
                    measure(batch[1], logits)

    train(6)
    tf.profiler.experimental.start(logdir)
    train(STEPS)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
