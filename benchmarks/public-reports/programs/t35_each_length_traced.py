import os

import keras
import numpy as np
import tensorflow as tf

WORDS, WIDTH, LAYERS = 8000, 48, 2


class Reader(keras.Model):
    """Where in a text the answer to a question starts and ends."""

    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Embedding(WORDS, WIDTH)
        self.attention = [keras.layers.MultiHeadAttention(4, WIDTH // 4) for _ in range(LAYERS)]
        self.norms = [keras.layers.LayerNormalization() for _ in range(LAYERS)]
        self.hidden = [keras.layers.Dense(WIDTH, activation="gelu") for _ in range(LAYERS)]
        self.span = keras.layers.Dense(2)

    def call(self, tokens):
        x, mask = self.embed(tokens), (tokens != 0)[:, None, :]
        for attention, norm, hidden in zip(self.attention, self.norms, self.hidden):
            x = norm(x + attention(x, x, attention_mask=mask))
            x = x + hidden(x)
        return tf.unstack(self.span(x), axis=-1)


def questions(count):
    """Questions with their texts, as word numbers."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield rng.integers(1, WORDS, rng.integers(60, 500)).astype("int32")


def answer(predict, tokens):
    start, end = predict(tf.constant(tokens[None]))
    first = int(np.argmax(start[0]))
    return first, first + int(np.argmax(end[0][first : first + 30]))


def main(count):
    keras.utils.set_random_seed(0)
    predict = tf.function(Reader())
    lengths = []
    for number, tokens in enumerate(questions(count)):
        first, last = answer(predict, tokens)
        lengths.append(last - first + 1)
        if number % 20 == 0:
            print(number, np.mean(lengths))


main(int(os.environ.get("STEPS", 260)))
