"""Gearbox faults of wind turbines from vibration windows: Keras 3 with the JAX backend."""

import argparse
import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from keras import layers, ops

WINDOW, SENSORS, PATCH, CLASSES, BATCH = 2048, 6, 32, 9, 32


def vibration_windows(rng, count=832):
    t = np.arange(WINDOW, dtype=np.float32) / 2048
    label = rng.integers(0, CLASSES, count)
    speed = rng.uniform(18, 26, (count, 1, 1)).astype(np.float32)
    x = rng.normal(0, 0.5, (count, SENSORS, WINDOW)).astype(np.float32)
    gains = rng.uniform(0.3, 1.0, (count, SENSORS, 1)).astype(np.float32)
    for harmonic in (1, 3):
        tone = speed * harmonic * (1 + 0.21 * label[:, None, None])
        x += gains * np.sin(2 * np.pi * tone * t).astype(np.float32)
    return np.ascontiguousarray(x.transpose(0, 2, 1)), label.astype("int32")


@keras.saving.register_keras_serializable("turbine")
class PatchEmbedding(layers.Layer):
    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.project = layers.Dense(width)

    def build(self, shape):
        self.tokens = shape[1] // PATCH
        self.project.build((None, self.tokens, PATCH * shape[2]))
        self.position = self.add_weight(shape=(self.tokens, self.width), initializer="truncated_normal", name="position")

    def call(self, x):
        x = ops.reshape(x, (-1, self.tokens, PATCH * x.shape[2]))
        return self.project(x) + self.position


def encoder_block(x, width, heads):
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.MultiHeadAttention(heads, width // heads, dropout=0.1)(y, y)
    x = layers.Add()([x, y])
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.Dense(3 * width, activation="gelu")(y)
    y = layers.Dropout(0.1)(y)
    return layers.Add()([x, layers.Dense(width)(y)])


def classifier(width=96, depth=2, heads=6):
    inputs = keras.Input((WINDOW, SENSORS))
    x = layers.GaussianNoise(0.02)(inputs)
    x = PatchEmbedding(width)(x)
    for _ in range(depth):
        x = encoder_block(x, width, heads)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES)(x), name="gearbox")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(9)
    x, y = vibration_windows(np.random.default_rng(9))
    model = classifier()
    model.compile(
        optimizer=keras.optimizers.AdamW(
            keras.optimizers.schedules.CosineDecay(1e-3, 4000), weight_decay=0.02, global_clipnorm=1.0
        ),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[
            keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
            keras.metrics.SparseTopKCategoricalAccuracy(3, name="top3"),
        ],
    )
    board = keras.callbacks.TensorBoard(args.logdir, write_graph=False, profile_batch=(12, 21))
    model.fit(x, y, batch_size=BATCH, epochs=1, callbacks=[board, keras.callbacks.TerminateOnNaN()], verbose=0)


if __name__ == "__main__":
    main()
