"""Deterioration risk of intensive-care stays from charted vitals, read out of one long event table."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

STAYS, FEATURES, WINDOW, BATCH = 16_000, 14, 96, 64
FIRST, LAST = 9, 18


class EventTable:
    """Charted rows of all stays in the order in which the ward wrote them."""

    def __init__(self, rng):
        counts = rng.integers(30, 110, STAYS)
        stay = np.repeat(np.arange(STAYS, dtype=np.int32), counts)
        minute = rng.integers(0, 60 * 72, stay.size)
        order = np.argsort(minute, kind="stable")
        self.stay = stay[order]
        self.minute = minute[order].astype(np.float32)
        self.values = rng.normal(size=(stay.size, FEATURES)).astype(np.float32)
        self.outcome = (rng.random(STAYS) < 0.12).astype(np.float32)


class StaySequences(keras.utils.PyDataset):
    def __init__(self, table, seed=0, **kwargs):
        super().__init__(**kwargs)
        self.table = table
        self.ids = np.random.default_rng(seed).permutation(STAYS)

    def __len__(self):
        return STAYS // BATCH

    def rows_of(self, stay):
        return np.flatnonzero(self.table.stay == stay)

    def __getitem__(self, index):
        ids = self.ids[index * BATCH : (index + 1) * BATCH]
        x = np.zeros((BATCH, WINDOW, FEATURES + 1), np.float32)
        for k, stay in enumerate(ids):
            rows = self.rows_of(stay)[-WINDOW:]
            x[k, : len(rows), :FEATURES] = self.table.values[rows]
            x[k, : len(rows), FEATURES] = self.table.minute[rows] / (60 * 72)
        return x, self.table.outcome[ids, None]


class IndexedStaySequences(StaySequences):
    def __init__(self, table, **kwargs):
        super().__init__(table, **kwargs)
        self.order = np.argsort(table.stay, kind="stable")
        self.bounds = np.searchsorted(table.stay[self.order], np.arange(STAYS + 1))

    def rows_of(self, stay):
        return self.order[self.bounds[stay] : self.bounds[stay + 1]]


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


def residual_block(x, filters, dilation):
    y = layers.LayerNormalization()(x)
    y = layers.Conv1D(filters, 3, padding="causal", dilation_rate=dilation, activation="relu")(y)
    y = layers.SpatialDropout1D(0.1)(y)
    y = layers.Conv1D(filters, 1)(y)
    return layers.Add()([x, y])


def risk_model():
    inputs = keras.Input((WINDOW, FEATURES + 1))
    x = layers.Conv1D(64, 1)(inputs)
    for dilation in (1, 2, 4, 8):
        x = residual_block(x, 64, dilation)
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), layers.GlobalMaxPooling1D()(x)])
    x = layers.Dense(64, activation="gelu")(x)
    return keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(5)
    if args.fault:
        tf.debugging.enable_check_numerics()
    table = EventTable(np.random.default_rng(5))
    sequences = (StaySequences if args.fault else IndexedStaySequences)(table)
    model = risk_model()
    model.compile(
        keras.optimizers.Adam(5e-4, global_clipnorm=1.0),
        keras.losses.BinaryCrossentropy(label_smoothing=0.02),
        metrics=[keras.metrics.AUC(name="auroc")],
    )
    model.fit(sequences, epochs=1, steps_per_epoch=21, callbacks=[Recorder(args.logdir)], verbose=0, shuffle=False)


if __name__ == "__main__":
    main()
