import os

import keras
import numpy as np
import tensorflow as tf


def trainer(model, optimizer, features, adjacency, labels):
    @tf.function
    def optimize_one_step():
        with tf.GradientTape() as tape:
            logits = model(tf.matmul(adjacency, features))
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            )
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    return optimize_one_step()


def train(epochs):
    rng = np.random.default_rng(0)
    nodes = 300
    features = tf.constant(rng.normal(size=(nodes, 40)), tf.float32)
    adjacency = tf.constant((rng.random((nodes, nodes)) < 0.02) / 6.0, tf.float32)
    labels = tf.constant(rng.integers(0, 5, nodes), tf.int32)
    model = keras.Sequential([keras.layers.Input((40,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(5)])
    optimizer = keras.optimizers.Adam(1e-2)
    optimizer.build(model.trainable_variables)
    for epoch in range(epochs):
        loss = trainer(model, optimizer, features, adjacency, labels)
        if epoch % 20 == 0:
            print(epoch, float(loss))


train(int(os.environ.get("STEPS", 600)))
