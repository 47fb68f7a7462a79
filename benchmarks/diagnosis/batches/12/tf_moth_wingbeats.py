"""Species of moths from the modulation of a laser beam by their wings; mixup inside the model's own train_step."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SPECIES = 18
SAMPLES = 1024
CROSSINGS = 1500
BATCH = 48
FIRST, LAST = 8, 19


def crossings(seed=6):
    rng = np.random.default_rng(seed)
    species = rng.integers(0, SPECIES, CROSSINGS)
    t = np.arange(SAMPLES, dtype=np.float32) / 4096
    beat = (25 + 4 * species + rng.normal(scale=1.5, size=CROSSINGS)).astype(np.float32)
    phase = rng.uniform(0, 2 * np.pi, CROSSINGS).astype(np.float32)
    signal = sum(np.sin(k * (2 * np.pi * beat[:, None] * t + phase[:, None])) / k for k in (1, 2, 3))
    signal += 0.4 * rng.standard_normal(signal.shape, dtype=np.float32)
    return signal[..., None].astype(np.float32), np.eye(SPECIES, dtype=np.float32)[species]


class MixupClassifier(keras.Model):
    def train_step(self, data):
        signal, species = data
        n = tf.shape(signal)[0]
        share = tf.random.uniform((n, 1), 0.5, 1.0)
        other = tf.random.shuffle(tf.range(n))
        mixed = share[:, :, None] * signal + (1 - share[:, :, None]) * tf.gather(signal, other)
        target = share * species + (1 - share) * tf.gather(species, other)
        with tf.GradientTape() as tape:
            predicted = self(mixed, training=True)
            loss = self.compute_loss(x=mixed, y=target, y_pred=predicted)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(species, predicted)
        return {m.name: m.result() for m in self.metrics}


def wing_net():
    signal = keras.Input((SAMPLES, 1))
    x = layers.Conv1D(24, 16, strides=4, padding="same", activation="relu")(signal)
    for width in (32, 64, 96):
        x = layers.SeparableConv1D(width, 9, padding="same", activation="relu")(x)
        x = layers.Conv1D(width, 5, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling1D(2)(x)
    x = layers.Bidirectional(layers.GRU(32))(x)
    return MixupClassifier(signal, layers.Dense(SPECIES, activation="softmax")(x))


class Recorder(keras.callbacks.Callback):
    def __init__(self, logdir):
        super().__init__()
        self.logdir = logdir

    def on_train_batch_begin(self, batch, logs=None):
        if batch == FIRST:
            tf.profiler.experimental.start(self.logdir)

    def on_train_batch_end(self, batch, logs=None):
        if batch == LAST:
            tf.profiler.experimental.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    signal, species = crossings()
    data = tf.data.Dataset.from_tensor_slices((signal, species)).shuffle(CROSSINGS).repeat()
    data = data.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    model = wing_net()
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.05),
        metrics=[keras.metrics.CategoricalAccuracy(), keras.metrics.TopKCategoricalAccuracy(3)],
    )
    model.fit(data, steps_per_epoch=24, epochs=1, callbacks=[Recorder(args.logdir)], verbose=2)


if __name__ == "__main__":
    main()
