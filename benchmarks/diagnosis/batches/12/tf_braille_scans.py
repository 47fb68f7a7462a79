"""Segmentation of braille dots on scanned pages (both sides embossed: recto, verso, background)."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

HEIGHT, WIDTH = 96, 128
PAGES = 160
BATCH = 8


def pages(seed=12):
    rng = np.random.default_rng(seed)
    scans = 0.75 + 0.04 * rng.standard_normal((PAGES, HEIGHT, WIDTH)).astype(np.float32)
    labels = np.zeros((PAGES, HEIGHT, WIDTH), np.int32)
    yy, xx = np.mgrid[:7, :7] - 3
    disc = (yy**2 + xx**2 <= 7).astype(np.int32)
    shade = (xx + yy) / 14 * disc
    for page, label in zip(scans, labels):
        for side in (1, 2):
            for _ in range(45):
                y, x = rng.integers(0, HEIGHT - 7), rng.integers(0, WIDTH - 7)
                page[y : y + 7, x : x + 7] += shade if side == 1 else -shade
                part = label[y : y + 7, x : x + 7]
                part[disc > 0] = side
    return scans[..., None], labels


def unet():
    def double(x, width):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = layers.BatchNormalization()(x)
            x = layers.Activation("relu")(x)
        return x

    scan = keras.Input((HEIGHT, WIDTH, 1))
    skips, x = [], scan
    for width in (10, 20):
        x = double(x, width)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = double(x, 40)
    for n, (width, skip) in enumerate(zip((20, 10), reversed(skips))):
        x = layers.UpSampling2D()(x)
        x = layers.Concatenate()([x, skip])
        x = double(x, width)
        x = layers.Activation("linear", name=f"up{n}")(x)
    return keras.Model(scan, layers.Conv2D(3, 1, name="classes")(x))


class LivePreview(keras.callbacks.Callback):
    """Keeps the feature maps of two crops up to date for the viewer in the lab."""

    def __init__(self, crops, layer="up0"):
        super().__init__()
        self.crops = tf.constant(crops)
        self.layer = layer
        self.maps = None

    def on_train_begin(self, logs=None):
        features = keras.Model(self.model.input, self.model.get_layer(self.layer).output)
        self.features = tf.function(lambda x: features(x, training=False))

    def on_train_batch_end(self, batch, logs=None):
        self.maps = self.features(self.crops).numpy().max(axis=-1)


class LayerPreview(LivePreview):
    def on_train_begin(self, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        features = keras.Model(self.model.input, self.model.get_layer(self.layer).output)
        self.maps = features.predict(self.crops, verbose=0).max(axis=-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    scans, labels = pages()
    data = tf.data.Dataset.from_tensor_slices((scans, labels)).shuffle(PAGES).repeat().batch(BATCH).prefetch(2)
    model = unet()
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    preview = LayerPreview if args.fault else LivePreview
    callbacks = [
        preview(scans[:2]),
        keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(8, 17)),
    ]
    model.fit(data, steps_per_epoch=22, epochs=1, callbacks=callbacks, verbose=2)


if __name__ == "__main__":
    main()
