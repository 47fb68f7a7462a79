"""Predicts the next change that a band of bell ringers will call, from the touches rung so far.

    python tf_change_ringing.py LOGDIR
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

ROWS = 24_000        # distinct rows on eight bells that the towers have recorded
LENGTH = 64
WIDTH = 192
BATCH = 16


def record_touches(count=1400):
    """A touch is a walk over the rows: each method moves on by its own stride."""
    rng = np.random.default_rng(8)
    start = rng.integers(0, ROWS, (count, 1))
    stride = rng.choice([1, 7, 23, 120, 5040], (count, LENGTH + 1))
    return ((start + np.cumsum(stride, axis=1)) % ROWS).astype(np.int32)


def make_dataset(touches):
    return (tf.data.Dataset.from_tensor_slices((touches[:, :-1], touches[:, 1:]))
            .shuffle(len(touches), seed=2)
            .repeat()
            .batch(BATCH, drop_remainder=True)
            .map(lambda x, y: (x, y // 120), num_parallel_calls=tf.data.AUTOTUNE)
            .prefetch(tf.data.AUTOTUNE))


class RingerBlock(layers.Layer):
    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.attend = layers.MultiHeadAttention(heads, width // heads)
        self.wide = layers.Dense(4 * width, activation="gelu")
        self.narrow = layers.Dense(width)
        self.norm_a = layers.LayerNormalization()
        self.norm_b = layers.LayerNormalization()

    def call(self, x):
        y = self.norm_a(x)
        x = x + self.attend(y, y, use_causal_mask=True)
        return x + self.narrow(self.wide(self.norm_b(x)))


def make_model():
    rows = keras.Input((LENGTH,), dtype="int32")
    x = layers.Embedding(ROWS, WIDTH)(rows)
    x = x + layers.Embedding(LENGTH, WIDTH)(keras.ops.arange(LENGTH))
    for _ in range(2):
        x = RingerBlock(WIDTH, 4)(x)
    x = layers.LayerNormalization()(x)
    return keras.Model(rows, layers.Dense(ROWS // 120)(x))


class Swag(keras.callbacks.Callback):
    """Mean and spread of the weights along the way (SWAG); the mean is put into the model at the end."""

    def __init__(self, per_batch=False):
        super().__init__()
        self.per_batch = per_batch
        self.seen = 0
        self.mean = self.square = None

    def update(self):
        weights = self.model.get_weights()
        self.seen += 1
        if self.mean is None:
            self.mean = [np.array(w, dtype=np.float64) for w in weights]
            self.square = [m**2 for m in self.mean]
        else:
            self.mean = [m + (w - m) / self.seen for m, w in zip(self.mean, weights)]
            self.square = [s + (w.astype(np.float64) ** 2 - s) / self.seen for s, w in zip(self.square, weights)]

    def on_train_batch_end(self, batch, logs=None):
        if self.per_batch:
            self.update()

    def on_epoch_end(self, epoch, logs=None):
        if not self.per_batch:
            self.update()

    def on_train_end(self, logs=None):
        self.model.set_weights([m.astype(np.float32) for m in self.mean])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(1)

    model = make_model()
    model.compile(
        optimizer=keras.optimizers.SGD(0.05, momentum=0.9),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    callbacks = [
        Swag(per_batch=args.fault),
        keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20)),
    ]
    model.fit(make_dataset(record_touches()), steps_per_epoch=24, epochs=1, callbacks=callbacks, verbose=2)


if __name__ == "__main__":
    main()
