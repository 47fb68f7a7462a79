"""Products on supermarket shelves: phone photographs in one folder a product, own training loop."""

import pathlib
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from PIL import Image, ImageDraw

SIZE = 112
BATCH = 24
PRODUCTS = 6
WARMUP, RECORDED = 6, 10


def write_photos(root, per_product):
    rng = np.random.default_rng(12)
    for product in range(PRODUCTS):
        folder = root / f"product_{product:02d}"
        folder.mkdir()
        for i in range(per_product):
            small = rng.integers(40, 200, (24, 32, 3)).astype(np.uint8)
            photo = Image.fromarray(small).resize((1024, 768), Image.BILINEAR)
            draw = ImageDraw.Draw(photo)
            x, y = rng.integers(100, 500, 2).tolist()
            draw.rectangle((x, y, x + 320, y + 180), fill=tuple((40 * product + 20, 200, 90)))
            photo.save(folder / f"{i:03d}.jpg", quality=88)


def make_dataset(root, fault):
    paths = sorted(str(p) for p in root.glob("*/*.jpg"))
    labels = [int(p.split("product_")[-1][:2]) for p in paths]

    def read(path, label):
        data = tf.io.read_file(path)
        if fault:
            image = tf.io.decode_jpeg(data, channels=3)
            image = tf.image.convert_image_dtype(image, tf.float32)
            image = tf.image.resize(image, (SIZE, SIZE), method="bicubic", antialias=True)
        else:
            image = tf.io.decode_jpeg(data, channels=3, ratio=4)
            image = tf.image.convert_image_dtype(image, tf.float32)
            image = tf.image.resize(image, (SIZE, SIZE))
        return image, label

    return (
        tf.data.Dataset.from_tensor_slices((paths, labels))
        .shuffle(len(paths))
        .repeat()
        .map(read, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )


def build_model():
    inputs = keras.Input((SIZE, SIZE, 3))
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    for width in (32, 48, 64):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(PRODUCTS)(x))


def jitter_one(image):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.2)
    image = tf.image.random_contrast(image, 0.7, 1.3)
    image = tf.image.random_saturation(image, 0.7, 1.3)
    image = tf.image.random_crop(tf.image.resize_with_crop_or_pad(image, SIZE + 12, SIZE + 12), (SIZE, SIZE, 3))
    return tf.clip_by_value(image, 0.0, 1.0)


def jitter_batch(images):
    count = tf.shape(images)[0]
    factor = lambda low, high: tf.random.uniform([count, 1, 1, 1], low, high)  # noqa: E731
    images = tf.where(factor(0.0, 1.0) < 0.5, images[:, :, ::-1], images)
    mean = tf.reduce_mean(images, axis=(1, 2), keepdims=True)
    images = (images - mean) * factor(0.7, 1.3) + mean + factor(-0.2, 0.2)
    grey = tf.image.rgb_to_grayscale(images)
    images = grey + (images - grey) * factor(0.7, 1.3)
    images = tf.pad(images, [[0, 0], [6, 6], [6, 6], [0, 0]])
    return tf.clip_by_value(tf.image.random_crop(images, [count, SIZE, SIZE, 3]), 0.0, 1.0)


def main(logdir, fault):
    keras.utils.set_random_seed(14)
    model = build_model()
    optimizer = keras.optimizers.Adam(1e-3)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(images, labels):
        images = tf.map_fn(jitter_one, images) if fault else jitter_batch(images)
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    with tempfile.TemporaryDirectory() as tmp:
        root = pathlib.Path(tmp)
        write_photos(root, 14)
        batches = iter(make_dataset(root, fault))
        for _ in range(WARMUP):
            loss = train_step(*next(batches))
        with tf.profiler.experimental.Profile(logdir):
            for _ in range(RECORDED):
                loss = train_step(*next(batches))
        print(f"loss {float(loss):.3f}")


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
