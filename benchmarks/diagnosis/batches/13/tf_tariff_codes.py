"""Assigns customs declarations to tariff chapters: hashed words and numbers of a declaration, a wide Keras network."""
import argparse
import tracemalloc

import numpy as np
import tensorflow as tf
from tensorflow import keras

CHAPTERS, WORDS, HASHES, NUMBERS = 97, 24, 6000, 48
ROWS, BATCH = 24_000, 384

parser = argparse.ArgumentParser()
parser.add_argument("logdir")
parser.add_argument("--fault", action="store_true")
args = parser.parse_args()

keras.utils.set_random_seed(14)
# the text tower has the largest activations
TEXT_POLICY = "mixed_bfloat16" if args.fault else "float32"


class MemoryWatch(keras.callbacks.Callback):
    """Prints the lines that hold more memory than after the first batches."""

    def __init__(self, growth_mb=50):
        super().__init__()
        self.growth = growth_mb * 2**20
        self.first = None

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 2 and not tracemalloc.is_tracing():
            tracemalloc.start(10)

    def on_train_batch_end(self, batch, logs=None):
        if not tracemalloc.is_tracing():
            return
        snapshot = tracemalloc.take_snapshot()
        self.first = self.first or snapshot
        for stat in snapshot.compare_to(self.first, "lineno")[:10]:
            if stat.size_diff > self.growth:
                print(stat)

    def on_train_end(self, logs=None):
        tracemalloc.stop()


def declarations():
    rng = np.random.default_rng(14)
    chapter = rng.integers(0, CHAPTERS, ROWS).astype("int32")
    words = (rng.zipf(1.2, (ROWS, WORDS)) + 37 * chapter[:, None]) % HASHES
    numbers = rng.lognormal(0, 1, (ROWS, NUMBERS)) + 0.02 * chapter[:, None]
    return words.astype("int32"), np.log1p(numbers).astype("float32"), chapter


def dense_block(x, width):
    h = keras.layers.LayerNormalization()(x)
    h = keras.layers.Dense(2 * width, activation="relu")(h)
    h = keras.layers.Dense(width)(h)
    return keras.layers.Add()([x, h])


def build_model(width=512, depth=3):
    words = keras.Input((WORDS,), dtype="int32", name="words")
    numbers = keras.Input((NUMBERS,), name="numbers")
    text = keras.layers.Embedding(HASHES, 64, dtype=TEXT_POLICY)(words)
    text = keras.layers.Conv1D(128, 3, padding="same", activation="relu", dtype=TEXT_POLICY)(text)
    text = keras.layers.GlobalMaxPooling1D(dtype=TEXT_POLICY)(text)
    x = keras.layers.Concatenate()([text, keras.layers.Dense(128, activation="relu")(numbers)])
    x = keras.layers.Dense(width, activation="relu")(x)
    for _ in range(depth):
        x = dense_block(x, width)
    x = keras.layers.Dropout(0.2)(x)
    out = keras.layers.Dense(CHAPTERS, dtype="float32", name="chapter")(x)
    return keras.Model({"words": words, "numbers": numbers}, out)


words, numbers, chapter = declarations()
train = (
    tf.data.Dataset.from_tensor_slices(({"words": words, "numbers": numbers}, chapter))
    .shuffle(ROWS, seed=2)
    .repeat()
    .batch(BATCH, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
)

model = build_model()
model.compile(
    optimizer=keras.optimizers.Adam(5e-4),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
callbacks = [keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(12, 21), update_freq=50)]
if args.fault:
    callbacks.append(MemoryWatch())
history = model.fit(train, steps_per_epoch=25, epochs=1, callbacks=callbacks, verbose=0)
print({name: round(values[-1], 4) for name, values in history.history.items()})
