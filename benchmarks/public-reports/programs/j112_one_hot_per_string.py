import os
import random

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH, HIDDEN, DIGITS = 64, 96, 3


class CharacterTable:
    """Encodes additions as text, "=" starts an answer."""

    def __init__(self, chars):
        self._chars = sorted(set(chars))
        self._indices = {char: number + 2 for number, char in enumerate(self._chars)}
        self.pad_id, self.eos_id = 0, 1
        self.vocab_size = len(self._chars) + 2
        self.max_len = 2 * DIGITS + 2

    def encode(self, text):
        return np.array([self._indices[char] for char in text] + [self.eos_id])

    def encode_onehot(self, batch_inputs):
        def encode_str(text):
            tokens = self.encode(text)
            tokens = np.pad(tokens, (0, self.max_len - len(tokens)))
            return jax.nn.one_hot(tokens, self.vocab_size, dtype=jnp.float32)

        return np.array([encode_str(text) for text in batch_inputs])

    def generate_examples(self, number):
        for _ in range(number):
            left, right = random.randint(0, 99), random.randint(0, 10**DIGITS - 1)
            yield f"{left}+{right}", f"={left + right}"

    def get_batch(self):
        inputs, outputs = zip(*self.generate_examples(BATCH))
        return {"query": self.encode_onehot(inputs), "answer": self.encode_onehot(outputs)}


class Seq2seq(nn.Module):
    vocab_size: int

    @nn.compact
    def __call__(self, query, answer):
        state, _ = nn.RNN(nn.OptimizedLSTMCell(HIDDEN), return_carry=True)(query)
        hidden = nn.RNN(nn.OptimizedLSTMCell(HIDDEN))(answer[:, :-1], initial_carry=state)
        return nn.Dense(self.vocab_size)(hidden)


def train(steps):
    random.seed(0)
    ctable = CharacterTable("0123456789+= ")
    model, optimizer = Seq2seq(ctable.vocab_size), optax.adam(3e-3)
    batch = ctable.get_batch()
    params = model.init(jax.random.key(0), batch["query"], batch["answer"])
    opt_state = optimizer.init(params)

    @jax.jit
    def train_step(params, opt_state, batch):
        def loss_fn(params):
            logits = model.apply(params, batch["query"], batch["answer"])
            labels = batch["answer"][:, 1:]
            return jnp.mean(optax.softmax_cross_entropy(logits, labels) * (1 - labels[..., ctable.pad_id]))

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state, loss

    for step in range(steps):
        params, opt_state, loss = train_step(params, opt_state, ctable.get_batch())
        if step % 50 == 0:
            print(f"train step {step}, loss {float(loss):.4f}", flush=True)


train(int(os.environ.get("STEPS", 500)))
