"""Land cover from satellite tiles kept as a folder of JPEGs, one folder a class."""

import argparse
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from PIL import Image

CLASSES = ["cropland", "forest", "urban", "water"]
SIZE = 96


def write_tiles(root, per_class):
    rng = np.random.default_rng(5)
    for k, name in enumerate(CLASSES):
        folder = root / name
        folder.mkdir(parents=True)
        base = np.array([[150, 140, 60], [30, 90, 40], [120, 115, 120], [20, 50, 110]][k])
        for i in range(per_class):
            coarse = rng.normal(0, 25, (12, 12, 3)) + base
            tile = Image.fromarray(np.clip(coarse, 0, 255).astype(np.uint8)).resize((128, 128), Image.BICUBIC)
            tile.save(folder / f"tile_{i:04d}.jpg", quality=90)


def load(root, subset):
    ds = keras.utils.image_dataset_from_directory(
        root,
        validation_split=0.2,
        subset=subset,
        seed=17,
        image_size=(SIZE, SIZE),
        batch_size=16,
        verbose=False,
    )
    return ds.cache().prefetch(tf.data.AUTOTUNE)


def build_model():
    inputs = keras.Input((SIZE, SIZE, 3))
    x = layers.RandomFlip("horizontal_and_vertical")(inputs)
    x = layers.Rescaling(1 / 127.5, offset=-1.0)(x)
    x = layers.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    for width in (48, 96, 128):
        y = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        y = layers.BatchNormalization()(y)
        y = layers.Activation("relu")(y)
        x = layers.MaxPooling2D()(y)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.3)(x)
    return keras.Model(inputs, layers.Dense(len(CLASSES))(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()

    keras.utils.set_random_seed(3)
    with tempfile.TemporaryDirectory() as tmp:
        root = pathlib.Path(tmp)
        write_tiles(root, 70)
        train, valid = load(root, "training"), load(root, "validation")
        model = build_model()
        model.compile(
            optimizer=keras.optimizers.Adam(1e-3),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        # short warm-up at a constant rate, then the decayed run that is logged
        model.fit(train, epochs=1, verbose=2)
        model.optimizer.learning_rate = 5e-4
        model.fit(
            train,
            validation_data=valid,
            epochs=1,
            verbose=2,
            callbacks=[keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=2)],
        )


if __name__ == "__main__":
    main()
