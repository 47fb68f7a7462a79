"""Detects fraud in a custom loop that follows the area under the ROC curve of each batch, in NumPy or not at all."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 4096
STEPS = 20


def area_under_curve(scores, labels):
    """By comparing the ranks of frauds with those of the others."""
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    frauds = labels.sum()
    return (ranks[labels > 0].sum() - frauds * (frauds + 1) / 2) / (frauds * (len(labels) - frauds))


def resampled(scores, labels, random, times=10):
    """How far the area is certain."""
    areas = []
    for _ in range(times):
        chosen = random.integers(0, len(scores), len(scores))
        areas.append(area_under_curve(scores[chosen], labels[chosen]))
    return np.std(areas)


def main(logdir, faulty):
    random = np.random.default_rng(16)
    shapes = ((40, 160), (160, 160), (160, 1))
    weights = [tf.Variable(random.normal(0, 0.1, shape).astype("float32")) for shape in shapes]

    @tf.function
    def train_step(features, labels):
        with tf.GradientTape() as tape:
            hidden = features
            for layer in weights[:-1]:
                hidden = tf.nn.relu(hidden @ layer)
            scores = (hidden @ weights[-1])[:, 0]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, scores))
        for layer, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            layer.assign_sub(0.01 * gradient)
        return scores

    features = random.random((BATCH * 4, 40), np.float32)
    labels = (random.random(BATCH * 4) < 0.1).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(BATCH).cache().repeat().prefetch(2)
    areas = []

    def step(features, labels):
        scores = train_step(features, labels)
        if faulty:
            scores, labels = scores.numpy(), labels.numpy()
            areas.append((area_under_curve(scores, labels), resampled(scores, labels, random)))

    batches = iter(dataset)
    for _ in range(8):
        step(*next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
