"""Classifies a folder of small JPEG flowers with Keras; the decoded pictures are cached in memory."""

import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from PIL import Image

IMG_SIZE = (64, 64)
BATCH_SIZE = 32
CLASSES = ["daisy", "dandelion", "roses", "sunflowers", "tulips"]
STEPS = 11  # batches 10 to 20


def make_folder(root):
    rng = np.random.default_rng(0)
    for label, name in enumerate(CLASSES):
        (root / name).mkdir(parents=True)
        for i in range(48):
            pixels = rng.integers(0, 90, (80, 80, 3)) + 30 * label
            Image.fromarray(pixels.astype(np.uint8)).save(root / name / f"{i:04d}.jpg", quality=90)


def get_dataset(root):
    ds = keras.utils.image_dataset_from_directory(
        root, labels="inferred", image_size=IMG_SIZE, batch_size=BATCH_SIZE, shuffle=True, seed=1, verbose=False
    )
    rescale = keras.layers.Rescaling(1.0 / 255)
    ds = ds.map(lambda x, y: (rescale(x), y), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.cache().shuffle(8).repeat().prefetch(tf.data.AUTOTUNE)


def make_model():
    inputs = keras.Input((*IMG_SIZE, 3))
    x = inputs
    for filters in (24, 48, 96):
        x = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.ReLU()(x)
        x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.Dropout(0.2)(x)
    outputs = keras.layers.Dense(len(CLASSES))(x)
    return keras.Model(inputs, outputs)


def main(logdir, faulty):
    del faulty  # nothing is wrong with this one
    keras.utils.set_random_seed(7)
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp) / "flower_photos"
        make_folder(root)
        train_ds = get_dataset(root)
        model = make_model()
        model.compile(
            optimizer=keras.optimizers.Adam(1e-3),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        tb = keras.callbacks.TensorBoard(logdir, profile_batch=(10, 20), write_graph=False)
        model.fit(train_ds, epochs=1, steps_per_epoch=26, callbacks=[tb], verbose=0)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
