import os

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

VOCAB, LENGTH, DIM, HEADS, LAYERS, MASK = 3000, 48, 128, 4, 4, 1


class TransformerBlock(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        x = nn.LayerNorm()(x + nn.MultiHeadDotProductAttention(HEADS)(x, x, mask=mask))
        return nn.LayerNorm()(x + nn.Dense(DIM)(nn.gelu(nn.Dense(4 * DIM)(x))))


class MaskedLMModule(nn.Module):
    @nn.compact
    def __call__(self, input_ids, attention_mask):
        embed = nn.Embed(VOCAB, DIM)
        x = nn.LayerNorm()(embed(input_ids) + nn.Embed(LENGTH, DIM)(jnp.arange(LENGTH)))
        mask = nn.make_attention_mask(attention_mask, attention_mask)
        for _ in range(LAYERS):
            x = TransformerBlock()(x, mask)
        x = nn.LayerNorm()(nn.gelu(nn.Dense(DIM)(x)))
        return embed.attend(x)


class FlaxMaskedLM:
    """Holds the module and its parameters, is called like a PyTorch model."""

    def __init__(self, module, seed=0):
        ids = jnp.ones((1, LENGTH), int)
        self.module, self.params = module, jax.jit(module.init)(jax.random.key(seed), ids, ids)["params"]

    def __call__(self, input_ids, attention_mask, params=None):
        return self.module.apply({"params": params or self.params}, input_ids, attention_mask)


class Tokenizer:
    def __init__(self, words):
        self.ids = {"[PAD]": 0, "[MASK]": MASK, "[CLS]": 2, "[SEP]": 3}
        self.ids.update({word: i + 4 for i, word in enumerate(words)})
        self.words = {i: word for word, i in self.ids.items()}

    def __call__(self, text):
        ids = [self.ids[word] for word in ["[CLS]", *text.split(), "[SEP]"]][:LENGTH]
        input_ids = np.zeros((1, LENGTH), np.int32)
        input_ids[0, : len(ids)] = ids
        return {"input_ids": input_ids, "attention_mask": (input_ids > 0).astype(np.int32)}


def make_sentences(words, rng):
    while True:
        sentence = list(rng.choice(words, rng.integers(10, 40)))
        sentence[rng.integers(len(sentence))] = "[MASK]"
        yield " ".join(sentence)


def main():
    words = [f"w{i}" for i in range(VOCAB - 4)]
    tokenizer, model = Tokenizer(words), FlaxMaskedLM(MaskedLMModule())
    sentences, guesses = make_sentences(words, np.random.default_rng(0)), []
    for n in range(int(os.environ.get("STEPS", 120))):
        inputs = tokenizer(next(sentences))
        logits = model(**inputs)
        position = int(np.argmax(inputs["input_ids"][0] == MASK))
        guesses.append(tokenizer.words[int(logits[0, position].argmax())])
        if (n + 1) % 20 == 0:
            print(n + 1, "sentences, last guesses:", *guesses[-5:], flush=True)


main()
