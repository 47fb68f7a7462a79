"""Which part of an address line is what? A character tagger for postal sorting (Keras on JAX)."""
import argparse
import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

LENGTH = 64
BATCH = 64
LINES = 2048
ALPHABET = " abcdefghijklmnopqrstuvwxyz0123456789.,-/'"
PARTS = ["none", "number", "street", "flat", "code", "town"]

STEMS = ["oak", "mill", "kirk", "ash", "bridge", "stone", "north", "west", "haven", "brook", "field", "wood"]
WAYS = ["street", "st.", "road", "rd", "lane", "way", "close", "st", "av.", "avenue"]


def line(rng):
    """One line of an address and the part that each character belongs to."""
    pieces = [
        (str(rng.integers(1, 400)) + rng.choice(["", "a", "b"]), "number"),
        (rng.choice(STEMS) + rng.choice(["", " "]) + rng.choice(STEMS) + " " + rng.choice(WAYS), "street"),
    ]
    if rng.random() < 0.4:
        pieces.insert(rng.integers(0, 3), (rng.choice(["flat ", "apt. ", "no. "]) + str(rng.integers(1, 60)), "flat"))
    code = "".join(rng.choice(list("abcdefgh"), 2)) + str(rng.integers(1, 20)) + " " + str(rng.integers(1, 10))
    ending = [(code, "code"), (rng.choice(STEMS) + rng.choice(["ton", "ham", "by", "ford"]), "town")]
    pieces += ending if rng.random() < 0.7 else ending[::-1]
    text, tags = "", []
    for piece, part in pieces:
        if text:
            gap = rng.choice([", ", " ", " - "])
            text, tags = text + gap, tags + [0] * len(gap)
        text, tags = text + piece, tags + [PARTS.index(part)] * len(piece)
    return text[:LENGTH], tags[:LENGTH]


def lines():
    rng = np.random.default_rng(27)
    chars = np.zeros((LINES, LENGTH), "int32")
    tags = np.zeros((LINES, LENGTH), "int32")
    for i in range(LINES):
        text, parts = line(rng)
        chars[i, : len(text)] = [ALPHABET.index(c) + 1 for c in text]
        tags[i, : len(parts)] = parts
    return chars, tags, (chars > 0).astype("float32")


def build():
    inputs = keras.Input((LENGTH,), dtype="int32")
    x = layers.Embedding(len(ALPHABET) + 1, 64)(inputs)
    x = layers.SpatialDropout1D(0.1)(x)
    for dilation in (1, 2, 4, 8):
        y = layers.LayerNormalization()(x)
        y = layers.Conv1D(128, 3, padding="same", dilation_rate=dilation, activation="gelu")(y)
        y = layers.Dropout(0.1)(y)
        x = x + layers.Dense(64)(y)
    y = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(4, 16)(y, y)
    return keras.Model(inputs, layers.Dense(len(PARTS))(layers.LayerNormalization()(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(27)

    chars, tags, weights = lines()
    model = build()
    model.compile(
        optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, 2000), clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
    )
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(12, 22), write_graph=False)
    model.fit(chars, tags, sample_weight=weights, batch_size=BATCH, epochs=1, callbacks=[board], verbose=2)


if __name__ == "__main__":
    main()
