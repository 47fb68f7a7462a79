import os
import pickle
import tempfile
import time

import keras
import numpy as np
import tensorflow as tf

FOLDER = tempfile.mkdtemp()


def write_scans(count):
    rng = np.random.default_rng(0)
    paths = []
    for number in range(count):
        path = os.path.join(FOLDER, f"{number}.p")
        with open(path, "wb") as file:
            pickle.dump((rng.random((60, 45, 4)).astype("float32"), float(number % 7)), file)
        paths.append(path)
    return paths


def load_scan(path):
    with open(path.numpy(), "rb") as file:
        depth, height = pickle.load(file)
    time.sleep(0.004)  # the share answers that late
    return depth / 7.5, np.float32(height)


def as_tensors(path):
    depth, height = tf.py_function(load_scan, [path], [tf.float32, tf.float32])
    depth.set_shape((60, 45, 4))
    height.set_shape(())
    return depth, height


def main():
    scans = tf.data.Dataset.from_tensor_slices(write_scans(256)).repeat()
    batches = scans.map(as_tensors).batch(16).prefetch(2)
    model = keras.Sequential(
        [
            keras.layers.Input((60, 45, 4)),
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    model.fit(batches, steps_per_epoch=100, epochs=int(os.environ.get("STEPS", 1500)) // 100, verbose=2)


main()
