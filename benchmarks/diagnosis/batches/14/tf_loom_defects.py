"""Segmentation of weaving faults (broken pick, slub, stain) on grey-scale tiles from a line camera over the loom."""
import argparse
import json
import os

import keras
import numpy as np
import psutil
import tensorflow as tf
from keras import layers

TILE = 96
CLASSES = 4
BATCH = 16
TILES = 192


def weave(rng):
    """A plain weave with one to three defects, and its mask."""
    y, x = np.mgrid[:TILE, :TILE].astype(np.float32)
    pitch = rng.uniform(4.0, 7.0)
    tilt = rng.uniform(-0.05, 0.05)
    warp = np.sin(2 * np.pi * (x + tilt * y) / pitch)
    weft = np.sin(2 * np.pi * (y - tilt * x) / pitch)
    cloth = 0.5 + 0.2 * np.where(warp * weft > 0, warp, weft)
    mask = np.zeros((TILE, TILE), np.uint8)
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(1, CLASSES)
        cy, cx = rng.uniform(10, TILE - 10, 2)
        if kind == 1:
            area = (np.abs(y - cy) < 1.5) & (np.abs(x - cx) < rng.uniform(15, 40))
            cloth[area] -= 0.3
        elif kind == 2:
            area = ((y - cy) / 2.5) ** 2 + ((x - cx) / rng.uniform(5, 12)) ** 2 < 1
            cloth[area] += 0.25
        else:
            area = (y - cy) ** 2 + (x - cx) ** 2 < rng.uniform(4, 10) ** 2
            cloth[area] *= 0.7
        mask[area] = kind
    return (cloth + rng.normal(scale=0.03, size=cloth.shape)).astype(np.float32)[..., None], mask


def tiles():
    rng = np.random.default_rng(23)
    cloth, masks = zip(*(weave(rng) for _ in range(TILES)))
    data = tf.data.Dataset.from_tensor_slices((np.stack(cloth), np.stack(masks)))

    def flip(picture, mask):
        if tf.random.uniform(()) < 0.5:
            picture, mask = picture[:, ::-1], mask[:, ::-1]
        return picture * tf.random.uniform((), 0.85, 1.15), mask

    return (
        data.shuffle(TILES)
        .repeat()
        .map(flip, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )


def block(x, width):
    for _ in range(2):
        x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
    return x


def unet():
    inputs = keras.Input((TILE, TILE, 1))
    a = block(layers.Conv2D(12, 3, strides=2, padding="same")(inputs), 12)
    b = block(layers.MaxPooling2D()(a), 24)
    c = block(layers.MaxPooling2D()(b), 48)
    x = layers.Concatenate()([layers.UpSampling2D()(c), b])
    x = block(x, 24)
    x = layers.Concatenate()([layers.UpSampling2D()(x), a])
    x = block(x, 12)
    x = layers.Conv2D(CLASSES, 1)(layers.UpSampling2D()(x))
    return keras.Model(inputs, layers.Activation("softmax", dtype="float32")(x))


class MachineLoad(keras.callbacks.Callback):
    """Writes what the machine was doing beside each batch, to be laid over the loss curve."""

    def __init__(self, path, interval=None):
        super().__init__()
        self.path = path
        self.interval = interval
        self.rows = []
        self.me = psutil.Process()

    def on_train_batch_end(self, batch, logs=None):
        self.rows.append(
            {
                "batch": batch,
                "cpu": psutil.cpu_percent(interval=self.interval),
                "memory": psutil.virtual_memory().percent,
                "rss": self.me.memory_info().rss,
            }
        )

    def on_epoch_end(self, epoch, logs=None):
        with open(self.path, "a") as out:
            for row in self.rows:
                out.write(json.dumps({"epoch": epoch, **row}) + "\n")
        self.rows.clear()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(23)
    os.makedirs(args.logdir, exist_ok=True)

    if args.fault:
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    model = unet()
    model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy")
    load = MachineLoad(os.path.join(args.logdir, "load.jsonl"), interval=0.1 if args.fault else None)
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(8, 17), write_graph=False)
    model.fit(tiles(), epochs=1, steps_per_epoch=20, callbacks=[load, board], verbose=2)


if __name__ == "__main__":
    main()
