"""A loop of TensorFlow in which nothing is compiled: every op is dispatched by itself."""

import sys

import numpy as np
import tensorflow as tf
from step_times import tick

weights = [tf.Variable(tf.random.normal([64, 64]) * 0.1) for _ in range(6)]
x = tf.constant(np.random.rand(128, 64), tf.float32)
for _ in range(int(sys.argv[1])):
    with tf.GradientTape() as tape:
        hidden = x
        for weight in weights:
            hidden = tf.nn.relu(hidden @ weight)
        loss = tf.reduce_mean(hidden**2)
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(0.01 * gradient)
    tick()
