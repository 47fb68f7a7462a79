"""A custom loop of TensorFlow whose images are made larger and brighter one after the other, while the step waits."""

import sys

import numpy as np
import tensorflow as tf
from step_times import tick

model = tf.keras.Sequential(
    [
        tf.keras.Input([96, 96, 3]),
        tf.keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(1),
    ]
)
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(images, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(images, training=True) - targets) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def larger(image, target):
    image = tf.image.resize(tf.cast(image, tf.float32) / 255.0, [320, 320], method="bicubic")
    return tf.image.random_brightness(image[112:208, 112:208], 0.2), target


pictures = np.random.randint(0, 255, (256, 64, 64, 3), np.uint8)
targets = np.random.rand(256, 1).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((pictures, targets)).repeat().map(larger).batch(16)

batches = iter(dataset)
for _ in range(int(sys.argv[1])):
    train_step(*next(batches))
    tick()
