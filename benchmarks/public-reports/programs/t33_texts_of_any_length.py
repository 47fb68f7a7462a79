import os

import keras
import numpy as np
import tensorflow as tf

WORDS, TEXTS, LONGEST, BATCH = 5000, 6400, 240, 32


def texts(rng):
    """Texts as word numbers: most are short, a few are long."""
    lengths = np.clip(rng.lognormal(3.3, 0.9, TEXTS), 5, LONGEST).astype("int64")
    words = rng.integers(1, WORDS, lengths.sum()).astype("int32")
    return tf.RaggedTensor.from_row_lengths(words, lengths)


def make_dataset():
    words = texts(np.random.default_rng(0))
    labels = tf.cast(tf.reduce_mean(tf.cast(words % 2, tf.float32), axis=1) > 0.5, tf.float32)
    dataset = tf.data.Dataset.from_tensor_slices((words, labels))
    dataset = dataset.shuffle(TEXTS, seed=0).repeat().map(lambda words, label: (words[:LONGEST], label))
    return dataset.padded_batch(BATCH, padded_shapes=([None], [])).prefetch(2)


def build_reader():
    model = keras.Sequential(
        [
            keras.layers.Input((None,), dtype="int32"),
            keras.layers.Embedding(WORDS, 64, mask_zero=True),
            keras.layers.GRU(96),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


keras.utils.set_random_seed(0)
model = build_reader()
model.fit(make_dataset(), steps_per_epoch=50, epochs=int(os.environ.get("STEPS", 500)) // 50, verbose=2)
