"""Ranks documents with a network whose optimizer is written by hand, inside or outside the compiled step."""

import sys

import numpy as np
import tensorflow as tf

DOCUMENTS, LIST = 48, 24
LAYERS = 12
STEPS = 14


def main(logdir, faulty):
    random = np.random.default_rng(20)
    widths = [96] * LAYERS
    weights = [tf.Variable(random.normal(0, 0.1, (width, width)).astype("float32")) for width in widths]
    biases = [tf.Variable(tf.zeros([width])) for width in widths]
    variables = weights + biases
    moments = [(tf.Variable(tf.zeros_like(one)), tf.Variable(tf.zeros_like(one))) for one in variables]

    def gradients_of(documents, clicked):
        with tf.GradientTape() as tape:
            hidden = documents
            for layer, bias in zip(weights, biases, strict=True):
                hidden = hidden + tf.nn.relu(hidden @ layer + bias)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(clicked, tf.reduce_sum(hidden, axis=2)))
        return tape.gradient(loss, variables)

    def update(gradients):
        """LAMB: Adam with the step scaled to the norm of the weights."""
        for variable, (mean, square), gradient in zip(variables, moments, gradients, strict=True):
            mean.assign(0.9 * mean + 0.1 * gradient)
            square.assign(0.99 * square + 0.01 * gradient * gradient)
            direction = mean / (tf.sqrt(square) + 1e-6) + 0.01 * variable
            ratio = tf.minimum(tf.norm(variable) / (tf.norm(direction) + 1e-6), 1.0)
            variable.assign_sub(1e-3 * ratio * direction)

    if faulty:
        compiled = tf.function(gradients_of)

        def train_step(documents, clicked):
            update(compiled(documents, clicked))
    else:

        @tf.function
        def train_step(documents, clicked):
            update(gradients_of(documents, clicked))

    documents = tf.constant(random.random((DOCUMENTS, LIST, 96), np.float32))
    clicked = tf.one_hot(random.integers(0, LIST, DOCUMENTS), LIST)
    for _ in range(5):
        train_step(documents, clicked)
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("rank", step_num=number, _r=1):
            train_step(documents, clicked)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
