"""Reads labels of parcels with train_on_batch; crops are cut and turned by NumPy in the loop, or ahead by tf.data."""

import sys

import numpy as np
import tensorflow as tf

BATCH, SIDE = 32, 40
STEPS = 14


def crops(photos, number):
    """Turned and normalised pieces of some photos."""
    random = np.random.default_rng(number)
    found = np.empty((BATCH, SIDE, SIDE, 1), np.float32)
    for place in range(BATCH):
        photo = photos[random.integers(len(photos))]
        top, left = random.integers(0, 64 - SIDE, 2)
        piece = np.rot90(photo[top : top + SIDE, left : left + SIDE], random.integers(4))
        spectrum = np.fft.fft2(piece)
        piece = np.abs(np.fft.ifft2(spectrum / (1 + np.abs(spectrum))))
        found[place, :, :, 0] = (piece - piece.mean()) / (piece.std() + 1e-6)
    return found


def main(logdir, faulty):
    random = np.random.default_rng(64)
    photos, zones = random.random((50, 64, 64), np.float32), random.integers(0, 9, (100, BATCH))
    model = tf.keras.Sequential(
        [
            tf.keras.Input([SIDE, SIDE, 1]),
            tf.keras.layers.Conv2D(24, 3, activation="relu"),
            tf.keras.layers.Conv2D(24, 3, strides=2, activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(9),
        ]
    )
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    ready = tf.data.Dataset.from_tensor_slices(np.stack([crops(photos, number) for number in range(12)]))
    ready = iter(ready.repeat().prefetch(2))
    for number in range(6 + STEPS):
        if number == 6:
            tf.profiler.experimental.start(logdir)
        batch = crops(photos, number) if faulty else next(ready)
        model.train_on_batch(batch, zones[number])
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
