"""Transit times of parcels with Keras; somebody wants to see the validation error after every batch, or every epoch."""

import sys

import keras
import numpy as np
import tensorflow as tf

STEPS = 11
BATCH = 256


class ValidationError(keras.callbacks.Callback):
    """Mean absolute error in hours on held-out parcels."""

    def __init__(self, x, y, per_batch):
        super().__init__()
        self.x, self.y = x, y
        self.per_batch = per_batch
        self.history = []

    def measure(self):
        hours = self.model.predict(self.x, batch_size=256, verbose=0)
        self.history.append(float(np.abs(hours[:, 0] - self.y).mean()))

    def on_train_batch_end(self, batch, logs=None):
        if self.per_batch:
            self.measure()

    def on_epoch_end(self, epoch, logs=None):
        self.measure()


def parcels(rows, seed):
    rng = np.random.default_rng(seed)
    depot = rng.integers(0, 300, (rows, 2)).astype("int32")
    weight = rng.gamma(2.0, 2.0, (rows, 24)).astype("float32")
    hours = (np.abs(depot[:, 0] - depot[:, 1]) / 10 + weight[:, 0]).astype("float32")
    return {"depot": depot, "weight": weight}, hours


def build_model():
    depot = keras.Input((2,), dtype="int32", name="depot")
    weight = keras.Input((24,), name="weight")
    x = keras.layers.Flatten()(keras.layers.Embedding(300, 32)(depot))
    x = keras.layers.Concatenate()([x, weight])
    for units in (1024, 1024, 512):
        x = keras.layers.Dense(units, activation="relu")(x)
    return keras.Model([depot, weight], keras.layers.Dense(1)(x))


def main(logdir, faulty):
    keras.utils.set_random_seed(11)
    x, y = parcels(BATCH * 25, seed=1)
    held_out = parcels(512, seed=2)
    model = build_model()
    model.compile(optimizer=keras.optimizers.SGD(1e-3), loss="mae")
    ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    callbacks = [
        ValidationError(*held_out, per_batch=faulty),
        keras.callbacks.TensorBoard(log_dir=logdir, write_graph=False, profile_batch=(10, 20)),
    ]
    model.fit(ds, epochs=1, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
