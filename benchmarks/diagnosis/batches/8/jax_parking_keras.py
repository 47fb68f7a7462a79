"""Counts free places in views of a car park. Keras 3 with the JAX backend."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import argparse

import jax
import keras
import numpy as np
from keras import layers

FIRST, LAST = 8, 19


class ProfileBatches(keras.callbacks.Callback):
    def __init__(self, logdir, first, last):
        super().__init__()
        self.logdir, self.first, self.last = logdir, first, last
        self.seen = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.seen += 1
        if self.seen == self.first:
            jax.profiler.start_trace(self.logdir)

    def on_train_batch_end(self, batch, logs=None):
        if self.seen == self.last:
            jax.block_until_ready([v.value for v in self.model.trainable_variables])
            jax.profiler.stop_trace()


class CarPark(keras.utils.PyDataset):
    """Views of a car park with their number of free places; drawn once and kept as bytes."""

    def __init__(self, views, batch_size, **kwargs):
        super().__init__(**kwargs)
        rng = np.random.default_rng(5)
        self.batch_size = batch_size
        places = rng.random((views, 6, 8)) < rng.random((views, 1, 1))
        view = np.kron(places, np.ones((12, 12))) * 140 + 40
        view = view[..., None] + rng.normal(0, 12, size=(views, 72, 96, 3))
        self.views = view.clip(0, 255).astype(np.uint8)
        self.free = (~places).sum(axis=(1, 2)).astype(np.float32) / 48.0
        self.order = rng.permutation(views)
        self.rng = rng

    def __len__(self):
        return len(self.order) // self.batch_size

    def __getitem__(self, index):
        rows = self.order[index * self.batch_size : (index + 1) * self.batch_size]
        return self.views[rows], self.free[rows]

    def on_epoch_end(self):
        self.rng.shuffle(self.order)


def residual(x, width, stride):
    skip = layers.Conv2D(width, 1, strides=stride, padding="same")(x)
    x = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("silu")(x)
    x = layers.Conv2D(width, 3, padding="same")(x)
    return layers.Activation("silu")(layers.Add()([x, skip]))


def build_model():
    image = keras.Input((72, 96, 3), dtype="uint8")
    x = layers.Rescaling(1 / 127.5, offset=-1.0)(image)
    x = layers.Conv2D(24, 5, strides=3, padding="same", activation="silu")(x)
    x = residual(x, 32, 1)
    x = residual(x, 64, 2)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(64, activation="silu")(x)
    share = layers.Dense(1, activation="sigmoid")(x)
    return keras.Model(image, share)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()

    keras.utils.set_random_seed(1)
    data = CarPark(views=960, batch_size=40, workers=1, max_queue_size=8)
    model = build_model()
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-3),
        loss="huber",
        metrics=[keras.metrics.MeanAbsoluteError(name="mae")],
    )
    history = model.fit(data, epochs=1, verbose=0, callbacks=[ProfileBatches(args.logdir, FIRST, LAST)])
    print({name: round(values[-1], 4) for name, values in history.history.items()})


if __name__ == "__main__":
    main()
