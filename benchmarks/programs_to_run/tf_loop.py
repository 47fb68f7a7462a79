"""A loop of TensorFlow that makes an iterator for each step and throws it away."""

import sys

import numpy as np
import tensorflow as tf
from step_times import tick

model = tf.keras.Sequential(
    [tf.keras.Input([64]), tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(1)]
)
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


features = np.random.rand(1024, 64).astype("float32")
targets = np.random.rand(1024, 1).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((features, targets)).batch(128)
dataset = dataset.map(lambda x, y: (x * 2 - 1, y), num_parallel_calls=tf.data.AUTOTUNE).shuffle(8).prefetch(2)

for _ in range(int(sys.argv[1])):
    train_step(*next(iter(dataset)))
    tick()
