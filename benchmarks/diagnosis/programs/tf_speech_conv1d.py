"""Recognises spoken commands: a convolution over spectrograms that the input pipeline makes of the sound."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 32
SAMPLES = 8000
FRAME, HOP = 256, 128
STEPS = 12


def spectrogram_by_numpy(sound):
    window = np.hanning(FRAME).astype(np.float32)
    spectra = []
    for recording in sound:
        frames = [recording[at : at + FRAME] * window for at in range(0, SAMPLES - FRAME + 1, HOP)]
        spectra.append([np.abs(np.fft.rfft(frame)) for frame in frames])
    return np.log1p(np.array(spectra, np.float32))


def spectrogram_by_tensorflow(sound):
    return tf.math.log1p(tf.abs(tf.signal.stft(sound, FRAME, HOP)))


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [
            tf.keras.Input([(SAMPLES - FRAME) // HOP + 1, FRAME // 2 + 1]),
            tf.keras.layers.Conv1D(128, 5, activation="relu"),
            tf.keras.layers.Conv1D(128, 5, activation="relu"),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(12),
        ]
    )
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(spectra, command):
        with tf.GradientTape() as tape:
            loss = loss_fn(command, model(spectra, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def prepare(sound, command):
        if faulty:
            spectra = tf.numpy_function(spectrogram_by_numpy, [sound], tf.float32, stateful=False)
            spectra.set_shape([BATCH, (SAMPLES - FRAME) // HOP + 1, FRAME // 2 + 1])
        else:
            spectra = spectrogram_by_tensorflow(sound)
        return spectra, command

    random = np.random.default_rng(3)
    sound = random.normal(0, 1, (BATCH * 6, SAMPLES)).astype("float32")
    command = random.integers(0, 12, BATCH * 6)
    dataset = tf.data.Dataset.from_tensor_slices((sound, command)).batch(BATCH, drop_remainder=True).repeat()
    batches = iter(dataset.map(prepare).prefetch(2))

    for _ in range(5):
        train_step(*next(batches))
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=1)
    tf.profiler.experimental.start(logdir, options=options)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
