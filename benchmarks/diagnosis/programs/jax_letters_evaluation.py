"""Evaluates a language model on letters; a generator splits and numbers words as batches are asked for, or before."""

import functools
import random as python_random
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np

WORDS, LENGTH, BATCH, WIDTH = 4000, 48, 32, 128
STEPS = 16


@functools.partial(jax.jit, donate_argnums=1)
def score(params, sums, tokens):
    vectors = params["table"][tokens]
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH)))
    for block in params["blocks"]:
        queries, keys, values = jnp.split(vectors @ block["qkv"], 3, axis=-1)
        weights = jax.nn.softmax(jnp.where(mask > 0, queries @ keys.swapaxes(1, 2) / WIDTH**0.5, -1e9))
        vectors = vectors + weights @ values
        vectors = vectors + jax.nn.gelu(vectors @ block["up"]) @ block["down"]
    logits = jax.nn.log_softmax(vectors[:, :-1] @ params["table"].T[:, :500])
    wanted = jnp.take_along_axis(logits, (tokens[:, 1:] % 500)[..., None], axis=2)
    return {"loss": sums["loss"] - wanted.sum(), "count": sums["count"] + wanted.size}


class Letters:
    """An iterable of batches of tokens."""

    def __init__(self, texts, vocabulary, ready):
        self.texts, self.vocabulary = texts, vocabulary
        self.batches = list(self.generate()) if ready else None

    def __iter__(self):
        return iter(self.batches) if self.batches is not None else self.generate()

    def generate(self):
        batch = []
        for text in self.texts:
            words = re.findall(r"[a-z]+|[.,;!?]", text.lower())
            tokens = [self.vocabulary.get(word, 0) for word in words][:LENGTH]
            batch.append(tokens + [0] * (LENGTH - len(tokens)))
            if len(batch) == BATCH:
                yield np.asarray(batch, np.int32)
                batch = []


def main(logdir, faulty):
    random = np.random.default_rng(4)
    python_random.seed(4)
    words = ["".join(python_random.choices("abcdefghijklmnopqrst", k=6)) for _ in range(WORDS)]
    vocabulary = {word: number for number, word in enumerate(words)}
    texts = [" ".join(python_random.choices(words, k=900)).capitalize() for _ in range((STEPS + 4) * BATCH)]
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "up": (WIDTH, 2 * WIDTH), "down": (2 * WIDTH, WIDTH)}
    params = {
        "table": jnp.asarray(random.normal(0, 0.1, (WORDS, WIDTH)), jnp.float32),
        "blocks": [
            {name: jnp.asarray(random.normal(0, 0.05, shape), jnp.float32) for name, shape in shapes.items()}
            for _ in range(2)
        ],
    }

    def evaluate(letters):
        sums = {"loss": jnp.zeros(()), "count": jnp.zeros((), jnp.int32)}
        for tokens in letters:
            sums = score(params, sums, tokens)
        return float(sums["loss"]) / int(sums["count"])

    evaluate(Letters(texts[: 4 * BATCH], vocabulary, not faulty))
    letters = Letters(texts[4 * BATCH :], vocabulary, not faulty)
    with jax.profiler.trace(logdir):
        evaluate(letters)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
