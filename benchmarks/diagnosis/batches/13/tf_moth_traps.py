"""Keras classifier of moths on light-trap photographs: JPEG folder, cached thumbnails, augmentation in the model."""
import argparse
import pathlib
import shutil
import tempfile

import keras
import numpy as np
import tensorflow as tf
from PIL import Image

SPECIES, THUMB, BATCH, COUNT = 18, 72, 40, 400


def write_folder(root):
    rng = np.random.default_rng(0)
    for i in range(COUNT):
        species = i % SPECIES
        folder = root / f"species_{species:02d}"
        folder.mkdir(exist_ok=True)
        base = rng.integers(0, 255, (14, 18, 3), dtype=np.uint8)
        base[..., species % 3] //= 2
        Image.fromarray(base).resize((288, 216), Image.BICUBIC).save(folder / f"{i:05d}.jpg", quality=85)


def thumbnail(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, ratio=2)
    image = tf.image.resize(image, (THUMB, THUMB), method="area")
    return tf.cast(image, tf.uint8), label


def make_dataset(root):
    files = sorted(str(f) for f in root.glob("*/*.jpg"))
    labels = [int(pathlib.Path(f).parent.name.split("_")[1]) for f in files]
    ds = tf.data.Dataset.from_tensor_slices((files, labels))
    ds = ds.map(thumbnail, num_parallel_calls=tf.data.AUTOTUNE).cache()
    ds = ds.shuffle(len(files), seed=7).repeat()
    return ds.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def residual(x, width, stride):
    h = keras.layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
    h = keras.layers.BatchNormalization()(h)
    h = keras.layers.Activation("relu")(h)
    h = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(h)
    h = keras.layers.BatchNormalization()(h)
    if stride != 1 or x.shape[-1] != width:
        x = keras.layers.Conv2D(width, 1, strides=stride, use_bias=False)(x)
    return keras.layers.Activation("relu")(keras.layers.Add()([x, h]))


def build_model():
    inputs = keras.Input((THUMB, THUMB, 3), dtype="uint8")
    x = keras.layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = keras.layers.RandomFlip("horizontal")(x)
    x = keras.layers.Conv2D(24, 5, strides=2, padding="same", activation="relu")(x)
    for width, stride in ((24, 1), (48, 2), (96, 2)):
        x = residual(x, width, stride)
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.Dropout(0.3)(x)
    return keras.Model(inputs, keras.layers.Dense(SPECIES)(x))


class BestLoss(keras.callbacks.Callback):
    """Remembers the lowest running loss for the notebook's table."""

    def __init__(self):
        super().__init__()
        self.best = float("inf")

    def on_train_batch_end(self, batch, logs=None):
        self.best = min(self.best, logs["loss"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    keras.utils.set_random_seed(5)
    root = pathlib.Path(tempfile.mkdtemp(prefix="moths"))
    try:
        write_folder(root)
        model = build_model()
        model.compile(
            optimizer=keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.05, 500), momentum=0.9),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        best = BestLoss()
        board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))
        model.fit(make_dataset(root), steps_per_epoch=26, epochs=1, callbacks=[board, best], verbose=0)
        print(f"best running loss {best.best:.3f}")
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
