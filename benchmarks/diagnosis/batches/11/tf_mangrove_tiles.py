"""Mangrove cover from four-band coastal tiles: a small U-Net, pixel-wise probabilities."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

SIZE, BANDS, TILES, BATCH = 128, 4, 120, 6


def synthetic_coast(rng):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32) / SIZE
    tiles = np.empty((TILES, SIZE, SIZE, BANDS), np.uint16)
    masks = np.empty((TILES, SIZE, SIZE, 1), np.uint8)
    for i in range(TILES):
        a, b, c = rng.uniform(2, 7, 3)
        shore = np.sin(a * xx + c) + np.cos(b * yy - c) + 0.3 * np.sin(4 * a * xx * yy)
        mask = shore > 1.1
        spectra = np.stack([shore * s for s in (700, 900, 400, 1500)], -1) + 3000
        spectra[mask, 3] += 1800
        tiles[i] = np.clip(spectra + rng.normal(0, 250, spectra.shape), 0, 10000)
        masks[i, ..., 0] = mask
    return tiles, masks


def augment(tile, mask):
    both = tf.concat([tf.cast(tile, tf.float32) / 10000.0, tf.cast(mask, tf.float32)], -1)
    both = tf.image.random_flip_left_right(both)
    both = tf.image.random_flip_up_down(both)
    return both[..., :BANDS], both[..., BANDS:]


def dataset(tiles, masks):
    return (
        tf.data.Dataset.from_tensor_slices((tiles, masks))
        .shuffle(TILES, seed=3)
        .repeat()
        .map(augment, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )


def double_conv(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
    return x


def unet():
    inputs = keras.Input((SIZE, SIZE, BANDS))
    skips, x = [], layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    for filters in (16, 32, 64):
        x = double_conv(x, filters)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = double_conv(x, 96)
    for filters, skip in zip((64, 32, 16), reversed(skips)):
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        x = layers.Concatenate()([x, skip])
        x = double_conv(x, filters)
    x = layers.Conv2DTranspose(8, 2, strides=2, activation="relu")(x)
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x), name="mangrove_unet")


def cover_metrics(curve):
    metrics = [keras.metrics.BinaryIoU(target_class_ids=[1], name="iou")]
    if curve:
        # mangroves are rare: thresholds even in log-odds resolve both ends of the scale
        points = 1 / (1 + np.exp(-np.linspace(-6.0, 6.0, 120)))
        return [*metrics, keras.metrics.AUC(curve="PR", thresholds=points.tolist(), name="pr_auc")]
    return [*metrics, keras.metrics.Precision(name="precision"), keras.metrics.Recall(name="recall")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(11)
    tiles, masks = synthetic_coast(np.random.default_rng(11))
    model = unet()
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-3),
        loss=keras.losses.BinaryCrossentropy(),
        metrics=cover_metrics(curve=args.fault),
    )
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))
    model.fit(dataset(tiles, masks), epochs=1, steps_per_epoch=22, callbacks=[board], verbose=0)


if __name__ == "__main__":
    main()
