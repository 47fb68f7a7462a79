import os

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state

VOCAB, LENGTH, BATCH, DIM, HEADS = 64, 32, 16, 64, 4


class DecoderLayer(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        h = nn.LayerNorm()(x)
        x = x + nn.SelfAttention(HEADS)(h, mask)
        h = nn.relu(nn.Dense(2 * DIM)(x))
        return x + nn.Dense(DIM)(h)


class Transformer(nn.Module):
    num_layers: int = 1

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCAB, DIM)(tokens) + nn.Embed(LENGTH, DIM)(jnp.arange(tokens.shape[1]))
        for _ in range(self.num_layers):
            x = DecoderLayer()(x, nn.make_causal_mask(tokens))
        return nn.Dense(VOCAB)(nn.LayerNorm()(x))


def create_state(key, model):
    params = jax.jit(model.init)(key, jnp.ones((1, LENGTH), int))["params"]
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)


def cross_entropy(logits, tokens):
    return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:]).mean()


def make_corpus(rng, size=2048):
    """Sentences of a language in which each word is followed by one of three others."""
    successors, sentences = rng.integers(0, VOCAB, (VOCAB, 3)), np.zeros((size, LENGTH), np.int32)
    sentences[:, 0] = rng.integers(0, VOCAB, size)
    for t in range(1, LENGTH):
        sentences[:, t] = successors[sentences[:, t - 1], rng.integers(0, 3, size)]
    return sentences


def train(state, corpus, steps, rng):
    for step in range(steps):
        batch = jnp.asarray(corpus[rng.integers(0, len(corpus), BATCH)])

        def loss_fn(params):
            logits = state.apply_fn({"params": params}, batch)
            return cross_entropy(logits, batch)

        loss, grads = jax.jit(jax.value_and_grad(loss_fn))(state.params)
        state = state.apply_gradients(grads=grads)
        print(f"step {step} loss {float(loss):.4f}", flush=True)
    return state


rng = np.random.default_rng(0)
state = create_state(jax.random.key(0), Transformer())
train(state, make_corpus(rng), int(os.environ.get("STEPS", 11)), rng)
