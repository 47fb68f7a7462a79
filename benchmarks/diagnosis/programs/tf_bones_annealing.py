"""Tells age and sex from bones; the share of one loss grows by compile with new loss_weights, or in a variable."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 64
STEPS = 10


def main(logdir, faulty):
    scan = tf.keras.Input([40, 40, 1])
    hidden = tf.keras.layers.Conv2D(16, 3, activation="relu")(scan)
    hidden = tf.keras.layers.Conv2D(24, 3, strides=2, activation="relu")(hidden)
    hidden = tf.keras.layers.Dense(64, "relu")(tf.keras.layers.GlobalAveragePooling2D()(hidden))
    heads = {
        "age": tf.keras.layers.Dense(1, name="age")(hidden),
        "sex": tf.keras.layers.Dense(2, "softmax", name="sex")(hidden),
    }
    model = tf.keras.Model(scan, heads)
    optimizer = tf.keras.optimizers.Adam(1e-3)
    share = tf.Variable(0.0)

    def of_age(years, guess):
        return (1.0 if faulty else share) * tf.reduce_mean((years - guess) ** 2, axis=-1)

    losses = {"age": of_age, "sex": "sparse_categorical_crossentropy"}
    model.compile(optimizer, losses, jit_compile=False)
    random = np.random.default_rng(75)
    scans, years = random.random((BATCH * 6, 40, 40, 1), np.float32), random.random((BATCH * 6, 1), np.float32)
    answers = {"age": years, "sex": random.integers(0, 2, BATCH * 6)}
    dataset = tf.data.Dataset.from_tensor_slices((scans, answers)).shuffle(256).repeat().batch(BATCH).prefetch(2)
    batches = iter(dataset)
    for step in range(4 + STEPS):
        if step == 4:
            tf.profiler.experimental.start(logdir)
        weight = min(1.0, step / 50)
        if faulty:
            model.compile(optimizer, losses, loss_weights={"age": weight, "sex": 1.0}, jit_compile=False)
        else:
            share.assign(weight)
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            model.train_on_batch(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
