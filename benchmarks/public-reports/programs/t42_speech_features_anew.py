import os
import tempfile
import wave

import keras
import numpy as np
import tensorflow as tf

RATE, WINDOW, STRIDE, FFT, FILTERS, CEPSTRA = 16_000, 320, 160, 512, 40, 13
WORDS, BATCH, CLIPS = 10, 16, 256


def write_clips(folder):
    """Spoken commands, each word with tones of its own."""
    rng = np.random.default_rng(0)
    paths, labels = [], rng.integers(WORDS, size=CLIPS)
    for number, label in enumerate(labels):
        time = np.arange(int(RATE * rng.uniform(0.8, 1.5))) / RATE
        sound = np.sin(2 * np.pi * 200 * (1 + label) * time) + rng.normal(0, 0.5, len(time))
        paths.append(os.path.join(folder, f"clip{number}.wav"))
        with wave.open(paths[-1], "wb") as file:
            file.setparams((1, 2, RATE, len(time), "NONE", ""))
            file.writeframes((sound * 5000).astype("int16").tobytes())
    return paths, labels


def mel_filters():
    top = 2595 * np.log10(1 + RATE / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, FILTERS + 2) / 2595) - 1)
    bins = np.floor((FFT + 1) * edges / RATE).astype(int)
    filters = np.zeros((FILTERS, FFT // 2 + 1))
    for row, (low, middle, high) in enumerate(zip(bins, bins[1:], bins[2:])):
        for k in range(low, middle):
            filters[row, k] = (k - low) / (middle - low)
        for k in range(middle, high):
            filters[row, k] = (high - k) / (high - middle)
    return filters


def speech_features(path):
    with wave.open(path.decode()) as file:
        sound = np.frombuffer(file.readframes(file.getnframes()), "int16") / 32768
    sound = np.append(sound[0], sound[1:] - 0.97 * sound[:-1])
    starts = np.arange(0, len(sound) - WINDOW, STRIDE)
    frames = sound[starts[:, None] + np.arange(WINDOW)] * np.hanning(WINDOW)
    power = np.abs(np.fft.rfft(frames, FFT)) ** 2 / FFT
    mel = np.log(power @ mel_filters().T + 1e-10)
    basis = np.cos(np.pi * np.outer(np.arange(CEPSTRA), np.arange(FILTERS) + 0.5) / FILTERS)
    cepstra = mel @ basis.T
    return ((cepstra - cepstra.mean(0)) / cepstra.std(0)).astype("float32")


def make_dataset(paths, labels):
    def load(path, label):
        features = tf.numpy_function(speech_features, [path], tf.float32)
        return tf.ensure_shape(features, (None, CEPSTRA)), label

    dataset = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(CLIPS)
    dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.padded_batch(BATCH, drop_remainder=True).prefetch(2)


def main(epochs):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((None, CEPSTRA)),
            keras.layers.Conv1D(32, 5, strides=4, activation="relu"),
            keras.layers.GRU(32, return_sequences=True),
            keras.layers.GRU(32),
            keras.layers.Dense(WORDS),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"])
    with tempfile.TemporaryDirectory() as folder:
        model.fit(make_dataset(*write_clips(folder)), epochs=epochs, verbose=2)


main(int(os.environ.get("STEPS", 10)))
