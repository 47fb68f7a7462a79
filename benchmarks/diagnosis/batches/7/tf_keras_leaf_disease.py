"""Leaf diseases: a keras PyDataset hands out pictures, either augmented one by one with PIL or in the model."""

import sys

import keras
import numpy as np
from keras import layers
from PIL import Image, ImageEnhance

STEPS = 11
SIDE = 96
BATCH = 24
DISEASES = 6


class Leaves(keras.utils.PyDataset):
    def __init__(self, pictures, diseases, augment, **kwargs):
        super().__init__(**kwargs)
        self.pictures, self.diseases, self.augment = pictures, diseases, augment

    def __len__(self):
        return len(self.pictures) // BATCH

    def __getitem__(self, index):
        where = slice(index * BATCH, (index + 1) * BATCH)
        x, y = self.pictures[where], self.diseases[where]
        if self.augment:
            rng = np.random.default_rng(index)
            x = np.stack([self.vary(picture, rng) for picture in x])
        return x.astype("float32"), y

    @staticmethod
    def vary(picture, rng):
        image = Image.fromarray(picture)
        image = image.resize((SIDE * 2, SIDE * 2), Image.LANCZOS)  # so that turning does not blur
        image = image.rotate(float(rng.uniform(-30, 30)), resample=Image.BICUBIC)
        image = image.resize((SIDE, SIDE), Image.LANCZOS)
        image = ImageEnhance.Contrast(image).enhance(float(rng.uniform(0.7, 1.3)))
        image = ImageEnhance.Color(image).enhance(float(rng.uniform(0.7, 1.3)))
        if rng.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        return np.asarray(image)


def build(augment_inside):
    inputs = keras.Input((SIDE, SIDE, 3))
    x = layers.Rescaling(1 / 255)(inputs)
    if augment_inside:
        x = layers.RandomFlip("horizontal", seed=1)(x)
    for filters in (16, 32, 64):
        x = layers.SeparableConv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
        x = layers.Conv2D(filters, 1, activation="relu")(x)
    x = layers.GlobalMaxPooling2D()(x)
    x = layers.Dense(64, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(DISEASES, activation="softmax")(x))


def main(logdir, faulty):
    keras.utils.set_random_seed(8)
    rng = np.random.default_rng(8)
    pictures = rng.integers(0, 255, (BATCH * 25, SIDE, SIDE, 3), dtype=np.uint8)
    diseases = rng.integers(0, DISEASES, len(pictures))
    model = build(augment_inside=not faulty)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(
        Leaves(pictures, diseases, augment=faulty),
        epochs=1,
        shuffle=False,
        verbose=0,
        callbacks=[keras.callbacks.TensorBoard(logdir, profile_batch=(10, 20), write_graph=False)],
    )


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
