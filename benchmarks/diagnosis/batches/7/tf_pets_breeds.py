"""Fine-grained pets: a MobileNet-like Keras model on a folder of photos."""

import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from PIL import Image

STEPS = 1
NUM_BREEDS = 8
IMAGE = 72
BATCH = 24


def draw_photos(folder, count=72):
    rng = np.random.default_rng(13)
    names, breeds = [], []
    for k in range(count):
        breed = k % NUM_BREEDS
        small = rng.integers(0, 255, (24, 32, 3), dtype=np.uint8) // 2 + 12 * breed
        photo = Image.fromarray(small.astype(np.uint8)).resize((800, 600), Image.BICUBIC)
        path = folder / f"breed{breed}_{k}.jpg"
        photo.save(path, quality=92)
        names.append(str(path))
        breeds.append(breed)
    return names, breeds


def load(path, breed):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (IMAGE, IMAGE)) / 127.5 - 1.0
    return img, breed


def pipeline(names, breeds, remember):
    ds = tf.data.Dataset.from_tensor_slices((names, breeds)).shuffle(len(names), seed=4)
    if remember:
        ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).cache()
        for _ in ds:  # fills the cache, so that the first epoch is as quick as the others
            pass
        return ds.repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return ds.repeat().map(load).batch(BATCH)


def inverted_residual(x, out, expand, stride):
    inp = x
    channels = x.shape[-1]
    x = layers.Conv2D(channels * expand, 1, use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU(6.0)(x)
    x = layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU(6.0)(x)
    x = layers.Conv2D(out, 1, use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.add([inp, x]) if stride == 1 and channels == out else x


def build():
    inputs = keras.Input((IMAGE, IMAGE, 3))
    x = layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(inputs)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    for out, stride in ((16, 2), (16, 1), (24, 2), (24, 1), (32, 1), (32, 1), (48, 2), (48, 1), (48, 1)):
        x = inverted_residual(x, out, 3, stride)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(NUM_BREEDS, activation="softmax")(x))


def main(logdir, faulty):
    keras.utils.set_random_seed(2)
    with tempfile.TemporaryDirectory() as tmp:
        names, breeds = draw_photos(Path(tmp))
        train = pipeline(names, breeds, remember=not faulty)
        model = build()
        model.compile(
            optimizer=keras.optimizers.RMSprop(1e-3),
            loss="sparse_categorical_crossentropy",
            jit_compile=False,
            run_eagerly=faulty,  # was handy for a breakpoint
        )
        board = keras.callbacks.TensorBoard(log_dir=logdir, profile_batch=2, write_graph=False)
        model.fit(train, steps_per_epoch=10, epochs=1, verbose=0, callbacks=[board])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
