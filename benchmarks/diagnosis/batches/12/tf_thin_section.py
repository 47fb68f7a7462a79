"""Segments minerals in photographs of rock thin sections (plane and crossed polarisers stacked as six channels)."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LOGDIR = sys.argv[1]
FAULT = "--fault" in sys.argv[2:]

MINERALS = ["quartz", "plagioclase", "k_feldspar", "biotite", "hornblende", "opaque"]
SIZE = 64
BATCH = 8
TILES = 192

if FAULT:
    keras.mixed_precision.set_global_policy("mixed_bfloat16")


def synthesise(rng):
    """Voronoi grains with a mineral each; crossed-polar colours depend on the grain's orientation."""
    yy, xx = np.mgrid[:SIZE, :SIZE]
    palette = rng.uniform(0.2, 0.95, (len(MINERALS), 3))
    images = np.empty((TILES, SIZE, SIZE, 6), np.uint8)
    masks = np.empty((TILES, SIZE, SIZE), np.uint8)
    for i in range(TILES):
        seeds = rng.uniform(0, SIZE, (40, 2))
        kind = rng.integers(0, len(MINERALS), 40)
        angle = rng.uniform(0, np.pi, 40)
        near = np.argmin((yy[..., None] - seeds[:, 0]) ** 2 + (xx[..., None] - seeds[:, 1]) ** 2, axis=-1)
        masks[i] = kind[near]
        plane = palette[kind[near]]
        crossed = plane * (0.3 + 0.7 * np.sin(2 * angle[near]) ** 2)[..., None]
        noisy = np.concatenate([plane, crossed], -1) + rng.normal(0, 0.05, (SIZE, SIZE, 6))
        images[i] = np.clip(noisy * 255, 0, 255).astype(np.uint8)
    return images, masks


def augment(image, mask):
    both = tf.concat([tf.cast(image, tf.float32) / 255.0, tf.cast(mask, tf.float32)[..., None]], -1)
    both = tf.image.random_flip_left_right(both)
    both = tf.image.random_flip_up_down(both)
    return both[..., :6], tf.cast(both[..., 6], tf.int32)


def block(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
    return x


def build_unet(widths=(16, 32, 64)):
    inputs = keras.Input((SIZE, SIZE, 6))
    x, skips = inputs, []
    for width in widths[:-1]:
        x = block(x, width)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = block(x, widths[-1])
    for width, skip in zip(widths[-2::-1], skips[::-1]):
        x = layers.UpSampling2D(interpolation="nearest")(x)
        x = layers.Concatenate()([x, skip])
        x = block(x, width)
    logits = layers.Conv2D(len(MINERALS), 1, dtype="float32")(x)
    return keras.Model(inputs, logits, name="thin_section_unet")


def main():
    keras.utils.set_random_seed(12)
    images, masks = synthesise(np.random.default_rng(12))
    train = (
        tf.data.Dataset.from_tensor_slices((images, masks))
        .shuffle(TILES)
        .repeat()
        .map(augment, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    model = build_unet()
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=False,
    )
    board = keras.callbacks.TensorBoard(log_dir=LOGDIR, profile_batch=(12, 21), write_graph=False)
    model.fit(train, epochs=1, steps_per_epoch=26, callbacks=[board], verbose=2)


if __name__ == "__main__":
    main()
