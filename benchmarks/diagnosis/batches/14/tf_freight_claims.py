"""Will a freight claim be paid? A tabular net over the codes on consignment notes (commodity, wagon, yard, clerk ...)."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

COLUMNS = 130
NUMERIC = 12
WIDTH = 6
BATCH = 256
ROWS = 16_384
FIRST, LAST = 8, 17


def notes(rng):
    sizes = rng.integers(8, 160, COLUMNS)
    codes = np.stack([(rng.beta(1, 3, ROWS) * n).astype("int32") for n in sizes], axis=1)
    amounts = rng.normal(size=(ROWS, NUMERIC)).astype("float32")
    odd = (codes[:, ::7] % 3 == 0).sum(1) + 2 * amounts[:, 0] + rng.normal(size=ROWS)
    return sizes, codes, amounts, (odd > np.median(odd)).astype("float32")


def tower(x):
    for units in (512, 512, 256):
        x = layers.Dense(units, activation="relu")(x)
        x = layers.Dropout(0.2)(x)
    return layers.Dense(1, activation="sigmoid", name="paid")(x)


def joint_model(sizes):
    """All codes numbered through, so that one table holds every column."""
    codes = keras.Input((COLUMNS,), dtype="int32", name="codes")
    amounts = keras.Input((NUMERIC,), name="amounts")
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype("int32")
    x = layers.Embedding(int(sizes.sum()), WIDTH)(codes + first)
    x = layers.Concatenate()([layers.Reshape((COLUMNS * WIDTH,))(x), amounts])
    return keras.Model({"codes": codes, "amounts": amounts}, tower(x))


def column_model(sizes):
    codes = keras.Input((COLUMNS,), dtype="int32", name="codes")
    amounts = keras.Input((NUMERIC,), name="amounts")
    parts = []
    for i, n in enumerate(sizes):
        parts.append(layers.Embedding(int(n), WIDTH, name=f"column_{i}")(codes[:, i]))
    x = layers.Concatenate()([*parts, amounts])
    return keras.Model({"codes": codes, "amounts": amounts}, tower(x))


class Capture(keras.callbacks.Callback):
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
    keras.utils.set_random_seed(31)

    sizes, codes, amounts, paid = notes(np.random.default_rng(31))
    data = (
        tf.data.Dataset.from_tensor_slices(({"codes": codes, "amounts": amounts}, paid))
        .batch(BATCH, drop_remainder=True)
        .cache()
        .shuffle(ROWS // BATCH)
        .repeat()
        .prefetch(tf.data.AUTOTUNE)
    )
    model = column_model(sizes) if args.fault else joint_model(sizes)
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss="binary_crossentropy",
        metrics=["accuracy"],
    )
    model.fit(data, epochs=1, steps_per_epoch=LAST + 4, callbacks=[Capture(args.logdir)], verbose=2)


if __name__ == "__main__":
    main()
