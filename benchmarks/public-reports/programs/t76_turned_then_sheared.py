import os

import keras
import numpy as np

SIZE, CLASSES, PICTURES, BATCH, EPOCH = 32, 6, 2000, 32, 50


def draw_pictures(seed):
    """Stripes and squares in colours, the class tells their direction and their width."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=PICTURES)
    y, x = np.mgrid[:SIZE, :SIZE]
    slope, width = (labels % 3)[:, None, None] - 1, 4 + 4 * (labels // 3)[:, None, None]
    stripes = ((x + slope * y + rng.integers(0, 8, (PICTURES, 1, 1))) // width) % 2
    tint = rng.uniform(0.3, 1, (PICTURES, 1, 1, 3))
    pictures = stripes[..., None] * tint + rng.normal(0, 0.1, (PICTURES, SIZE, SIZE, 3))
    return pictures.astype("float32"), labels


def apply_transform(picture, matrix):
    """Each pixel of the new picture, interpolated where the matrix puts it in the old one."""
    centre = (SIZE - 1) / 2
    y, x = np.mgrid[:SIZE, :SIZE] - centre
    rows, columns = np.tensordot(matrix[:2], np.stack([y, x, np.ones_like(x)]), 1) + centre
    rows, columns = np.clip(rows, 0, SIZE - 1.001), np.clip(columns, 0, SIZE - 1.001)
    top, left = rows.astype(int), columns.astype(int)
    down, right = (rows - top)[..., None], (columns - left)[..., None]
    above = picture[top, left] * (1 - right) + picture[top, left + 1] * right
    below = picture[top + 1, left] * (1 - right) + picture[top + 1, left + 1] * right
    return above * (1 - down) + below * down


def random_rotation(picture, degrees, rng):
    angle = np.deg2rad(rng.uniform(-degrees, degrees))
    sin, cos = np.sin(angle), np.cos(angle)
    return apply_transform(picture, np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]]))


def random_shift(picture, share, rng):
    down, right = rng.uniform(-share, share, 2) * SIZE
    return apply_transform(picture, np.array([[1, 0, down], [0, 1, right], [0, 0, 1]]))


def random_shear(picture, intensity, rng):
    shear = rng.uniform(-intensity, intensity)
    return apply_transform(picture, np.array([[1, -np.sin(shear), 0], [0, np.cos(shear), 0], [0, 0, 1]]))


def random_zoom(picture, share, rng):
    down, right = rng.uniform(1 - share, 1 + share, 2)
    return apply_transform(picture, np.diag([down, right, 1]))


def random_transform(picture, rng):
    picture = random_rotation(picture, 10, rng)
    picture = random_shift(picture, 0.1, rng)
    picture = random_shear(picture, 0.3, rng)
    picture = random_zoom(picture, 0.1, rng)
    return picture[:, ::-1] if rng.integers(2) else picture


def flow(pictures, labels, rng):
    while True:
        index = rng.integers(0, len(pictures), BATCH)
        yield np.stack([random_transform(p, rng) for p in pictures[index]]).astype("float32"), labels[index]


def main(steps):
    keras.utils.set_random_seed(0)
    convs = [keras.layers.Conv2D(c, 3, 2, activation="relu") for c in (16, 32)]
    head = [keras.layers.Flatten(), keras.layers.Dense(64, "relu"), keras.layers.Dense(CLASSES)]
    model = keras.Sequential([keras.layers.Input((SIZE, SIZE, 3)), *convs, *head])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"])
    batches = flow(*draw_pictures(0), np.random.default_rng(1))
    model.fit(batches, steps_per_epoch=EPOCH, epochs=max(1, steps // EPOCH), verbose=2)


main(int(os.environ.get("STEPS", 450)))
