import os

import keras
import numpy as np
import tensorflow as tf

SIZE, CHANNELS, CLASSES, BATCH = 32, 3, 10, 128


def make_pictures(rng, count):
    labels = rng.integers(0, CLASSES, count)
    grid = np.linspace(0, 2 * np.pi, SIZE)
    waves = np.sin(grid[None, :, None] * (1 + labels[:, None, None] % 5) + grid[None, None] * (labels[:, None, None] // 5))
    pictures = waves[..., None] + rng.normal(0, 0.7, size=(count, SIZE, SIZE, CHANNELS))
    return pictures.astype("float32"), labels.astype("int32")


def random_crop_and_flip(x, pad_rows=4, pad_cols=4):
    rows, cols = SIZE, SIZE

    def pad_img(image):
        return tf.image.resize_with_crop_or_pad(image, rows + pad_rows, cols + pad_cols)

    x = tf.map_fn(pad_img, x)
    x = tf.image.random_crop(x, (BATCH, rows, cols, CHANNELS))
    x = tf.map_fn(tf.image.random_flip_left_right, x)
    return x


def build_model():
    return keras.Sequential(
        [
            keras.layers.Input((SIZE, SIZE, CHANNELS)),
            keras.layers.Conv2D(8, 4, strides=4, activation="relu"),
            keras.layers.Conv2D(16, 2, strides=2, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(CLASSES),
        ]
    )


def main():
    keras.utils.set_random_seed(0)
    model = build_model()
    optimizer = keras.optimizers.SGD(0.02, momentum=0.9)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(x, y):
        x = random_crop_and_flip(x)
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    rng = np.random.default_rng(0)
    pictures, labels = make_pictures(rng, 6400)
    steps = int(os.environ.get("STEPS", 1200))
    for step in range(steps):
        chosen = rng.integers(0, len(labels), BATCH)
        loss = train_step(tf.constant(pictures[chosen]), tf.constant(labels[chosen]))
        if step % 100 == 0:
            print(step, float(loss), flush=True)
    print(float(loss))


main()
