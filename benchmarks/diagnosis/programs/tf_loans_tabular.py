"""Predicts defaults of loans from a table of mixed columns with Keras fit; columns are encoded row by row or by batch."""

import sys

import numpy as np
import tensorflow as tf

ROWS, BATCH = 8192, 256
STEPS = 20


def main(logdir, faulty):
    random = np.random.default_rng(43)
    table = {
        "purpose": random.choice(["car", "house", "debt", "school"], ROWS),
        "state": random.choice(["CA", "NY", "TX", "WA", "OR", "FL"], ROWS),
        "income": random.lognormal(10, 1, ROWS).astype("float32"),
        "amount": random.lognormal(9, 1, ROWS).astype("float32"),
    }
    failed = random.integers(0, 2, ROWS).astype("float32")
    scale = tf.constant([11.0, 9.5])

    def encode(columns, label):
        purpose = tf.one_hot(tf.strings.to_hash_bucket_fast(columns["purpose"], 16), 16)
        state = tf.one_hot(tf.strings.to_hash_bucket_fast(columns["state"], 64), 64)
        money = tf.math.log(tf.stack([columns["income"], columns["amount"]], axis=-1)) / scale
        return tf.concat([purpose, state, money], axis=-1), label

    dataset = tf.data.Dataset.from_tensor_slices((table, failed)).repeat()
    if faulty:
        dataset = dataset.map(encode, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH)
    else:
        dataset = dataset.batch(BATCH).map(encode, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)

    model = tf.keras.Sequential(
        [tf.keras.Input([82]), *(tf.keras.layers.Dense(256, "relu") for _ in range(3)), tf.keras.layers.Dense(1)]
    )
    loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(1e-3), loss, metrics=["AUC"], jit_compile=False)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(21, 20 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=24 + STEPS, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
