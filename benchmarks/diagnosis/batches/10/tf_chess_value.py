"""A small residual value network for chess positions."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

BATCH = 96
PIECES = 13
FILTERS = 48


def random_positions(n, seed=0):
    """Board as 64 codes: 0 empty, 1-6 white, 7-12 black; value from the material balance."""
    rng = np.random.default_rng(seed)
    boards = rng.choice(PIECES, size=(n, 64), p=[0.64] + [0.03] * 12).astype(np.uint8)
    worth = np.array([0, 1, 3, 3, 5, 9, 0, -1, -3, -3, -5, -9, 0], np.float32)
    side = rng.integers(0, 2, n).astype(np.float32)
    value = np.tanh((worth[boards].sum(1) + 0.5 * (2 * side - 1)) / 10)
    return boards, side, value.astype(np.float32)


def to_planes(board, side, value):
    planes = tf.one_hot(tf.reshape(tf.cast(board, tf.int32), (-1, 8, 8)), PIECES)
    turn = tf.tile(side[:, None, None, None], (1, 8, 8, 1))
    return tf.concat([planes, turn], axis=-1), value


def residual(x):
    y = layers.Conv2D(FILTERS, 3, padding="same", use_bias=False)(x)
    y = layers.BatchNormalization()(y)
    y = layers.ReLU()(y)
    y = layers.Conv2D(FILTERS, 3, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    s = layers.GlobalAveragePooling2D(keepdims=True)(y)
    s = layers.Dense(FILTERS, activation="sigmoid")(layers.Dense(16, activation="relu")(s))
    return layers.ReLU()(layers.Add()([x, layers.Multiply()([y, s])]))


def make_model():
    inputs = keras.Input((8, 8, PIECES + 1))
    x = layers.Conv2D(FILTERS, 3, padding="same", activation="relu")(inputs)
    for _ in range(5):
        x = residual(x)
    x = layers.Conv2D(8, 1, activation="relu")(x)
    x = layers.Dense(128, activation="relu")(layers.Flatten()(x))
    return keras.Model(inputs, layers.Dense(1, activation="tanh")(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args, _ = parser.parse_known_args()

    keras.utils.set_random_seed(64)
    boards, side, value = random_positions(20_000)
    ds = (
        tf.data.Dataset.from_tensor_slices((boards, side, value))
        .shuffle(20_000, seed=2)
        .batch(BATCH, drop_remainder=True)
        .map(to_planes, num_parallel_calls=tf.data.AUTOTUNE)
        .repeat()
        .prefetch(tf.data.AUTOTUNE)
    )
    model = make_model()
    model.compile(
        optimizer=keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.05, 400), momentum=0.9, nesterov=True),
        loss="mse",
        metrics=["mae"],
    )
    callbacks = [
        keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(15, 26)),
        keras.callbacks.TerminateOnNaN(),
    ]
    model.fit(ds, steps_per_epoch=40, epochs=1, callbacks=callbacks, verbose=2)


if __name__ == "__main__":
    main()
