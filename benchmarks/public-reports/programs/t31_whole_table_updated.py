import os

import keras
import numpy as np

WORDS, WIDTH, LENGTH, BATCH = 200_000, 32, 20, 64


def titles(rng, count):
    """Titles as word numbers, frequent words first, and whether one of two topics' words lead."""
    words = (WORDS ** rng.random((count, LENGTH))).astype("int32")
    return words, ((words % 2).mean(1) > 0.5).astype("float32")


def build_model():
    model = keras.Sequential(
        [
            keras.layers.Input((LENGTH,), dtype="int32"),
            keras.layers.Embedding(WORDS, WIDTH),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
    return model


def main():
    keras.utils.set_random_seed(0)
    x, y = titles(np.random.default_rng(0), 100 * BATCH)
    model = build_model()
    model.fit(x, y, batch_size=BATCH, epochs=int(os.environ.get("STEPS", 1600)) // 100, verbose=2)


main()
