"""Marks glaze defects (pinholes, crawling, crazing) on photographs of fired tiles, pixel by pixel."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SIZE = 128
CLASSES = 4
BATCH = 8
STEPS_PER_EPOCH = 24


def fire_tiles(count, seed=3):
    """Tiles of one glaze colour with a few round defects; the mask holds the kind of defect."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    photos = np.empty((count, SIZE, SIZE, 3), np.float32)
    masks = np.zeros((count, SIZE, SIZE), np.int32)
    for i in range(count):
        glaze = rng.uniform(0.3, 0.8, 3)
        photos[i] = glaze + 0.03 * rng.standard_normal((SIZE, SIZE, 3))
        for _ in range(rng.integers(1, 5)):
            kind = rng.integers(1, CLASSES)
            cy, cx, radius = rng.uniform(8, SIZE - 8), rng.uniform(8, SIZE - 8), rng.uniform(2, 5) * kind
            spot = (yy - cy) ** 2 + (xx - cx) ** 2 < radius**2
            photos[i][spot] *= 0.4 + 0.15 * kind
            masks[i][spot] = kind
    return photos, masks


def augment(photo, mask):
    if tf.random.uniform(()) < 0.5:
        photo, mask = tf.reverse(photo, [1]), tf.reverse(mask, [1])
    photo = photo + tf.random.uniform((3,), -0.05, 0.05)
    return photo, mask


def make_dataset():
    photos, masks = fire_tiles(160)
    return (
        tf.data.Dataset.from_tensor_slices((photos, masks))
        .shuffle(160)
        .repeat()
        .map(augment, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH, drop_remainder=True)
        .prefetch(2)
    )


def residual(x, filters, name):
    y = layers.Conv2D(filters, 3, padding="same", activation="relu", name=f"{name}_a")(x)
    y = layers.Conv2D(filters, 3, padding="same", name=f"{name}_b")(y)
    return layers.ReLU(name=f"{name}_out")(layers.Add(name=f"{name}_add")([x, y]))


def build(full_resolution_head):
    photo = keras.Input((SIZE, SIZE, 3), name="photo")
    x = layers.Conv2D(24, 5, strides=2, padding="same", activation="relu", name="stem")(photo)
    x = layers.Conv2D(48, 3, strides=2, padding="same", activation="relu", name="down")(x)
    for stage in range(3):
        x = residual(x, 48, f"block{stage}")
    if full_resolution_head:
        x = layers.UpSampling2D(4, interpolation="bilinear", name="to_full")(x)
        x = layers.Conv2D(48, 3, padding="same", activation="relu", name="head")(x)
        logits = layers.Conv2D(CLASSES, 1, name="logits")(x)
    else:
        x = layers.Conv2D(48, 3, padding="same", activation="relu", name="head")(x)
        x = layers.Conv2D(CLASSES, 1, name="logits")(x)
        logits = layers.UpSampling2D(4, interpolation="bilinear", name="to_full")(x)
    return keras.Model(photo, logits, name="glaze_net")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(7)
    model = build(full_resolution_head=args.fault)
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-3, weight_decay=1e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy(name="pixel_acc")],
    )
    model.fit(
        make_dataset(),
        epochs=1,
        steps_per_epoch=STEPS_PER_EPOCH,
        callbacks=[keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))],
        verbose=2,
    )


if __name__ == "__main__":
    main()
