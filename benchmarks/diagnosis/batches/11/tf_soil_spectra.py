"""Four soil properties (carbon, clay, pH, nitrogen) from near-infrared reflectance spectra."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

BANDS, SAMPLES, BATCH = 1024, 3072, 48
PROPERTIES = ("carbon", "clay", "ph", "nitrogen")
WEIGHTS = (1.0, 0.5, 0.7, 1.0)


def library(rng):
    wave = np.linspace(0, 1, BANDS, dtype=np.float32)
    amounts = rng.gamma(2.0, 0.5, (SAMPLES, len(PROPERTIES))).astype(np.float32)
    centres, widths = rng.uniform(0.1, 0.9, (4, 3)), rng.uniform(0.01, 0.05, (4, 3))
    peaks = sum(np.exp(-(((wave - centres[:, k, None]) / widths[:, k, None]) ** 2)) for k in range(3))
    spectra = 0.6 - 0.1 * amounts @ peaks.astype(np.float32)
    spectra += rng.normal(0, 0.01, spectra.shape)
    return spectra[..., None].astype(np.float32), amounts


class SoilNet(keras.Model):
    def __init__(self, separate=False):
        super().__init__()
        self.separate = separate
        self.stem = layers.Conv1D(32, 9, strides=2, padding="same", activation="relu")
        self.blocks = [
            keras.Sequential(
                [
                    layers.Conv1D(filters, 7, strides=2, padding="same", use_bias=False),
                    layers.GroupNormalization(8),
                    layers.ReLU(),
                    layers.Conv1D(filters, 7, padding="same", activation="relu"),
                ]
            )
            for filters in (48, 64, 96)
        ]
        self.pool = layers.GlobalAveragePooling1D()
        self.heads = [
            keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(1)], name=name) for name in PROPERTIES
        ]
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.error_trackers = [keras.metrics.RootMeanSquaredError(name=f"rmse_{name}") for name in PROPERTIES]

    @property
    def metrics(self):
        return [self.loss_tracker, *self.error_trackers]

    def call(self, x, training=False):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x, training=training)
        x = self.pool(x)
        return [head(x) for head in self.heads]

    def task_losses(self, y, outputs):
        huber = keras.losses.Huber(0.5)
        return [w * huber(y[:, k : k + 1], out) for k, (w, out) in enumerate(zip(WEIGHTS, outputs))]

    def train_step(self, data):
        x, y = data
        with tf.GradientTape(persistent=self.separate) as tape:
            outputs = self(x, training=True)
            losses = self.task_losses(y, outputs)
            total = tf.add_n(losses)
        variables = self.trainable_variables
        if self.separate:
            gradients = [tf.zeros_like(v) for v in variables]
            for loss in losses:
                task = tape.gradient(loss, variables)
                gradients = [g if t is None else g + t for g, t in zip(gradients, task)]
            del tape
        else:
            gradients = tape.gradient(total, variables)
        self.optimizer.apply_gradients(zip(gradients, variables))
        self.loss_tracker.update_state(total)
        for k, tracker in enumerate(self.error_trackers):
            tracker.update_state(y[:, k : k + 1], outputs[k])
        return {m.name: m.result() for m in self.metrics}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(2)
    spectra, amounts = library(np.random.default_rng(2))
    data = (
        tf.data.Dataset.from_tensor_slices((spectra, amounts))
        .shuffle(SAMPLES)
        .batch(BATCH, drop_remainder=True)
        .map(lambda x, y: (x + tf.random.normal(tf.shape(x), stddev=0.003), y), num_parallel_calls=tf.data.AUTOTUNE)
        .repeat()
        .prefetch(tf.data.AUTOTUNE)
    )
    model = SoilNet(separate=args.fault)
    model.compile(optimizer=keras.optimizers.Adam(1e-4))
    model.fit(data, epochs=1, steps_per_epoch=8, verbose=0)
    model.optimizer.learning_rate = 1e-3
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=2, write_graph=False)
    model.fit(data, epochs=1, steps_per_epoch=12, callbacks=[board], verbose=0)


if __name__ == "__main__":
    main()
