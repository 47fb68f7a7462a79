"""Judges a loaf from a photograph of its crumb and the recipe: kind of crumb, volume and colour of the crust.

The two regressions start with a small weight that grows from round to round, when the photographs' features have settled.
"""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras

BATCH, ROUND, SIZE = 32, 10, 112
WARMUP, CAPTURED = 6, 12
KINDS = 5


def loaves(count=512, seed=7):
    rng = np.random.default_rng(seed)
    recipe = rng.normal(size=(count, 12)).astype(np.float32)
    kind = rng.integers(0, KINDS, count)
    holes = rng.random((count, SIZE, SIZE, 1), dtype=np.float32) < (0.05 + 0.05 * kind)[:, None, None, None]
    photo = (0.8 - 0.5 * holes + 0.05 * rng.normal(size=(count, SIZE, SIZE, 3))).astype(np.float32)
    volume = (recipe[:, :1] * 0.4 + kind[:, None] * 0.2).astype(np.float32)
    crust = np.tanh(recipe[:, 1:4]).astype(np.float32)
    return (photo, recipe), {"crumb": kind.astype(np.int32), "volume": volume, "crust": crust}


def batches():
    data = tf.data.Dataset.from_tensor_slices(loaves())
    return iter(data.cache().shuffle(512, seed=2).repeat().batch(BATCH, drop_remainder=True).prefetch(2))


def build():
    photo = keras.Input((SIZE, SIZE, 3), name="photo")
    recipe = keras.Input((12,), name="recipe")
    x = photo
    for width in (32, 64, 96):
        x = keras.layers.Conv2D(width, 3, strides=2, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.Activation("relu")(x)
        y = keras.layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = keras.layers.Add()([x, y])
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.Concatenate()([x, keras.layers.Dense(32, activation="relu")(recipe)])
    x = keras.layers.Dense(128, activation="relu")(x)
    heads = {
        "crumb": keras.layers.Dense(KINDS, activation="softmax", name="crumb")(x),
        "volume": keras.layers.Dense(1, name="volume")(x),
        "crust": keras.layers.Dense(3, name="crust")(x),
    }
    return keras.Model([photo, recipe], heads)


def ramp_at(step):
    return min(1.0, 0.1 + 0.1 * (step // ROUND))


class RampInLosses:
    def __init__(self, model):
        self.ramp = ramp = keras.Variable(0.1, trainable=False, dtype="float32", name="ramp")

        def volume_loss(truth, guess):
            return ramp * keras.ops.mean(keras.ops.square(truth - guess), axis=-1)

        def crust_loss(truth, guess):
            return ramp * keras.ops.mean(keras.ops.abs(truth - guess), axis=-1)

        losses = {"crumb": "sparse_categorical_crossentropy", "volume": volume_loss, "crust": crust_loss}
        model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=losses)

    def set(self, value):
        self.ramp.assign(value)


class RampInWeights:
    losses = {"crumb": "sparse_categorical_crossentropy", "volume": "mean_squared_error", "crust": "mean_absolute_error"}

    def __init__(self, model):
        self.model = model
        self.optimizer = keras.optimizers.Adam(1e-3)
        self.set(0.1)

    def set(self, value):
        weights = {"crumb": 1.0, "volume": value, "crust": value}
        self.model.compile(optimizer=self.optimizer, loss=self.losses, loss_weights=weights)


def train(model, ramp, source, steps):
    logs = {}
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            if step % ROUND == 0:
                ramp.set(ramp_at(step))
            (photo, recipe), truth = next(source)
            logs = model.train_on_batch([photo, recipe], truth, return_dict=True)
    return logs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(1)

    source = batches()
    model = build()
    ramp = RampInWeights(model) if args.fault else RampInLosses(model)
    train(model, ramp, source, range(WARMUP))
    tf.profiler.experimental.start(args.logdir)
    logs = train(model, ramp, source, range(WARMUP, WARMUP + CAPTURED))
    tf.profiler.experimental.stop()
    print("loss:", round(float(logs["loss"]), 3))


if __name__ == "__main__":
    main()
