"""Sorts photographs of pottery sherds from an excavation into wares; pictures lie in one folder per ware."""
import argparse
import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow import keras

WARES = ["amphora", "coarse", "lamp", "sigillata", "stoneware"]
SIZE, BATCH = 96, 24


def write_photographs(root, each=48, seed=8):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:160, 0:160] / 160
    for k, ware in enumerate(WARES):
        (root / ware).mkdir(parents=True)
        for n in range(each):
            grain = rng.normal(scale=6 + 3 * k, size=(160, 160, 1))
            bands = 25 * np.sin(2 * np.pi * ((k + 1) * xx + rng.random() * yy))[..., None]
            tone = np.array([150 + 12 * k, 95 + 6 * k, 70]) + rng.normal(scale=8, size=3)
            picture = np.clip(tone + bands + grain, 0, 255).astype(np.uint8)
            Image.fromarray(picture).save(root / ware / f"{n:04d}.jpg", quality=88)


def load(path, label):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    picture = tf.image.resize(picture, (SIZE, SIZE))
    return tf.cast(picture, tf.uint8), label


def augment(pictures, labels):
    pictures = tf.cast(pictures, tf.float32) / 255.0
    pictures = tf.image.random_flip_left_right(pictures)
    gain = tf.random.uniform((BATCH, 1, 1, 1), 0.85, 1.15)
    return tf.clip_by_value(pictures * gain, 0.0, 1.0), labels


def dataset(root):
    paths, labels = [], []
    for k, ware in enumerate(WARES):
        files = sorted(str(p) for p in (root / ware).glob("*.jpg"))
        paths += files
        labels += [k] * len(files)
    data = tf.data.Dataset.from_tensor_slices((paths, labels))
    data = data.map(load, num_parallel_calls=tf.data.AUTOTUNE).cache()
    data = data.shuffle(len(paths), seed=3).repeat().batch(BATCH, drop_remainder=True)
    return data.map(augment, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def block(x, width, strides):
    short = x
    y = keras.layers.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(x)
    y = keras.layers.BatchNormalization()(y)
    y = keras.layers.Activation("relu")(y)
    y = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
    y = keras.layers.BatchNormalization()(y)
    if strides != 1 or x.shape[-1] != width:
        short = keras.layers.Conv2D(width, 1, strides=strides, use_bias=False)(x)
    return keras.layers.Activation("relu")(keras.layers.Add()([y, short]))


def build():
    inputs = keras.Input((SIZE, SIZE, 3))
    x = keras.layers.Conv2D(16, 5, strides=2, padding="same", activation="relu")(inputs)
    for width, strides in ((24, 2), (48, 2), (96, 2)):
        x = block(x, width, strides)
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.Dropout(0.3)(x)
    return keras.Model(inputs, keras.layers.Dense(len(WARES))(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    keras.utils.set_random_seed(2)

    root = pathlib.Path(tempfile.mkdtemp(prefix="sherds"))
    try:
        write_photographs(root)
        model = build()
        model.compile(
            optimizer=keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(11, 22), write_graph=False)
        history = model.fit(dataset(root), steps_per_epoch=26, epochs=1, callbacks=[board], verbose=0)
    finally:
        shutil.rmtree(root)
    print("accuracy:", round(history.history["accuracy"][-1], 3))


if __name__ == "__main__":
    main()
