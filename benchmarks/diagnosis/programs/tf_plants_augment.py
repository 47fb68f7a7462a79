"""Names plants from photos in a loop over the dataset; photos are distorted while a step runs, or before it."""

import sys

import numpy as np
import tensorflow as tf

BATCH, SIDE = 16, 72
STEPS = 16


def distort(photo, name):
    photo = tf.image.random_flip_left_right(photo)
    photo = tf.image.random_contrast(photo, 0.7, 1.3)
    photo = tf.image.random_saturation(photo, 0.6, 1.4)
    photo = tf.image.random_hue(photo, 0.1)
    photo = tf.image.resize(tf.image.random_crop(photo, [60, 60, 3]), [SIDE, SIDE], method="bicubic")
    return tf.clip_by_value(photo, 0.0, 1.0), name


class Names(tf.Module):
    """Three convolutions and a dense layer."""

    def __init__(self):
        super().__init__()
        start = tf.random.Generator.from_seed(5)
        self.filters = [
            tf.Variable(start.normal([3, 3, one, two], stddev=0.1)) for one, two in ((3, 16), (16, 24), (24, 32))
        ]
        self.last = tf.Variable(start.normal([32, 20], stddev=0.1))

    def __call__(self, photos):
        for layer in self.filters:
            photos = tf.nn.relu(tf.nn.conv2d(photos, layer, 2, "SAME"))
        return tf.reduce_mean(photos, [1, 2]) @ self.last


def main(logdir, faulty):
    random = np.random.default_rng(42)
    photos, names = random.random((BATCH * 6, SIDE, SIDE, 3), np.float32), random.integers(0, 20, BATCH * 6)
    dataset = tf.data.Dataset.from_tensor_slices((photos, names)).repeat().map(distort).batch(BATCH)
    if not faulty:
        dataset = dataset.prefetch(tf.data.AUTOTUNE)
    model = Names()

    @tf.function
    def learn(photos, names):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(names, model(photos)))
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
            variable.assign_sub(0.05 * gradient)
        return loss

    for step, (photos, names) in enumerate(dataset):
        if step == 10:
            tf.profiler.experimental.start(logdir)
        if step == 10 + STEPS:
            break
        learn(photos, names)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
