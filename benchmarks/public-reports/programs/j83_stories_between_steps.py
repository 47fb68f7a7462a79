import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

MAXLEN, EMBED, HEADS, BLOCKS, BATCH, TOP_K = 96, 64, 4, 2, 16, 10
NAMES, VERBS, THINGS = "Tom Lily Ben Mia Sam".split(), "saw lost found liked".split(), "a cat;the red ball;his mom;a big dog".split(";")
CHARS = sorted(set("".join(NAMES + VERBS + THINGS) + " .\n"))
END = CHARS.index("\n")


class TransformerBlock(nnx.Module):
    def __init__(self, rngs):
        self.mha = nnx.MultiHeadAttention(num_heads=HEADS, in_features=EMBED, decode=False, rngs=rngs)
        self.norm1, self.norm2 = nnx.LayerNorm(EMBED, rngs=rngs), nnx.LayerNorm(EMBED, rngs=rngs)
        self.linear1, self.linear2 = nnx.Linear(EMBED, 2 * EMBED, rngs=rngs), nnx.Linear(2 * EMBED, EMBED, rngs=rngs)

    def __call__(self, x):
        mask = jnp.tri(x.shape[1], dtype=bool)
        x = self.norm1(x + self.mha(x, mask=mask))
        return self.norm2(x + self.linear2(nnx.relu(self.linear1(x))))


class MiniGPT(nnx.Module):
    def __init__(self, rngs):
        self.tokens, self.positions = nnx.Embed(len(CHARS), EMBED, rngs=rngs), nnx.Embed(MAXLEN, EMBED, rngs=rngs)
        self.blocks = nnx.List([TransformerBlock(rngs) for _ in range(BLOCKS)])
        self.output_layer = nnx.Linear(EMBED, len(CHARS), rngs=rngs)

    def __call__(self, inputs):
        x = self.tokens(inputs) + self.positions(jnp.arange(inputs.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.output_layer(x)

    def generate_text(self, max_tokens, start_tokens, key):
        def sample_from(logits, key):
            logits, indices = jax.lax.top_k(logits, k=TOP_K)
            return jax.random.choice(key, indices, p=nnx.softmax(logits))

        def generate_step(tokens, key):
            x = jnp.array(tokens + [0] * (MAXLEN - len(tokens)))[None, :]
            logits = self(x)
            return sample_from(logits[0][len(tokens) - 1], key)

        generated = []
        for i in range(max_tokens):
            next_token = generate_step(start_tokens + generated, jax.random.fold_in(key, i))
            if next_token == END:
                break
            generated.append(int(next_token))
        return "".join(CHARS[t] for t in start_tokens + generated)


@nnx.jit
def train_step(model, optimizer, metrics, batch):
    def loss_fn(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(batch[:, :-1]), batch[:, 1:]).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    metrics.update(loss=loss)
    optimizer.update(model, grads)


rng = np.random.default_rng(0)
story = "".join(f"{rng.choice(NAMES)} {rng.choice(VERBS)} {rng.choice(THINGS)}." + " \n"[rng.random() < 0.1] for _ in range(5000))
data = np.array([CHARS.index(c) for c in story], np.int32)
model = MiniGPT(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
prompt = [CHARS.index(c) for c in "Tom saw"]
for step in range(int(os.environ.get("STEPS", 100))):
    starts = rng.integers(len(data) - MAXLEN - 1, size=BATCH)
    train_step(model, optimizer, metrics, data[starts[:, None] + np.arange(MAXLEN + 1)])
    if (step + 1) % 20 == 0:
        print(step + 1, metrics.compute(), model.generate_text(60, prompt, jax.random.key(step)), flush=True)
        metrics.reset()
