"""Rates recipes with a GRU by train_on_batch; padded batches come from arrays, or word by word from a Python generator."""

import itertools
import sys

import numpy as np
import tensorflow as tf

RECIPES, BATCH = 512, 32
WORDS, LONGEST = 800, 24
STEPS = 16


def main(logdir, faulty):
    random = np.random.default_rng(41)
    vocabulary = [f"word{number}" for number in range(WORDS)]
    number_of = {word: number for number, word in enumerate(vocabulary)}
    texts = [" ".join(random.choice(vocabulary, random.integers(12, LONGEST))) for _ in range(RECIPES)]
    stars = random.random(RECIPES).astype("float32")

    def recipes():
        for text, given in zip(texts, stars, strict=True):
            pairs = [a + b for a, b in itertools.pairwise(text) if a != " "]
            rare = sorted(set(pairs), key=pairs.count)[:3]
            yield [number_of[word] for word in text.split()] + [len(rare)], given

    shape = (tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.float32))
    dataset = tf.data.Dataset.from_generator(recipes, output_signature=shape)
    if not faulty:
        dataset = dataset.cache()
    dataset = dataset.repeat().padded_batch(BATCH, ([LONGEST + 1], [])).prefetch(tf.data.AUTOTUNE)

    model = tf.keras.Sequential(
        [
            tf.keras.Input([LONGEST + 1]),
            tf.keras.layers.Embedding(WORDS, 32),
            tf.keras.layers.GRU(48),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", jit_compile=False)
    batches = iter(dataset)
    for step in range(24 + STEPS):
        if step == 24:
            tf.profiler.experimental.start(logdir)
        model.train_on_batch(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
