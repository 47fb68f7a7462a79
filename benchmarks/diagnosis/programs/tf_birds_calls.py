"""Tells birds from their calls with Keras fit; sound files are read by tf.py_function, or once into a cache."""

import pathlib
import sys

import numpy as np
import tensorflow as tf

CALLS, BATCH = 128, 16
STEPS = 16


def main(logdir, faulty):
    random = np.random.default_rng(44)
    folder = pathlib.Path("calls")
    folder.mkdir(exist_ok=True)
    for number in range(CALLS):
        np.save(folder / f"{number % 5}-{number}.npy", random.normal(0, 1, 8000).astype("float32"))
    files = sorted(str(path) for path in folder.glob("*.npy"))

    def load(path):
        name = path.numpy().decode()
        sound = np.load(name)
        sound = np.convolve(sound, np.hanning(9), "same")
        frames = sound.reshape(80, 100) * np.hamming(100)
        return np.abs(np.fft.rfft(frames)).astype("float32"), int(pathlib.Path(name).name[0])

    def load_call(path):
        picture, bird = tf.py_function(load, [path], [tf.float32, tf.int64])
        return tf.ensure_shape(picture, [80, 51]), tf.ensure_shape(bird, [])

    dataset = tf.data.Dataset.from_tensor_slices(files).map(load_call, num_parallel_calls=tf.data.AUTOTUNE)
    if not faulty:
        dataset = dataset.cache()
    dataset = dataset.shuffle(64).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    model = tf.keras.Sequential(
        [
            tf.keras.Input([80, 51]),
            tf.keras.layers.Conv1D(64, 5, activation="relu"),
            tf.keras.layers.Conv1D(64, 5, activation="relu"),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(5),
        ]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"], jit_compile=False)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(13, 12 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=16 + STEPS, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
