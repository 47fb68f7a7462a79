"""A tiny GPT on characters, flax.nnx. Ten steps are traced, each under a StepTraceAnnotation."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

STEPS = 10
block_size = 96
batch_size = 12
n_embd = 128
n_head = 4
n_layer = 3

TEXT = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, "
    "it was the epoch of belief, it was the epoch of incredulity, it was the season of Light. "
) * 40


class Block(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs):
        self.ln1 = nnx.LayerNorm(n_embd, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(
            num_heads=n_head, in_features=n_embd, qkv_features=n_embd, decode=False, rngs=rngs
        )
        self.ln2 = nnx.LayerNorm(n_embd, rngs=rngs)
        self.up = nnx.Linear(n_embd, 4 * n_embd, rngs=rngs)
        self.down = nnx.Linear(4 * n_embd, n_embd, rngs=rngs)

    def __call__(self, x, mask):
        x = x + self.attn(self.ln1(x), mask=mask)
        return x + self.down(nnx.gelu(self.up(self.ln2(x))))


class GPT(nnx.Module):
    def __init__(self, vocab, *, rngs: nnx.Rngs):
        self.tok = nnx.Embed(vocab, n_embd, rngs=rngs)
        self.pos = nnx.Embed(block_size, n_embd, rngs=rngs)
        self.b0, self.b1, self.b2 = (Block(rngs=rngs) for _ in range(n_layer))
        self.ln = nnx.LayerNorm(n_embd, rngs=rngs)
        self.head = nnx.Linear(n_embd, vocab, rngs=rngs)

    def __call__(self, idx):
        mask = nnx.make_causal_mask(idx)
        x = self.tok(idx) + self.pos(jnp.arange(idx.shape[1]))
        for block in (self.b0, self.b1, self.b2):
            x = block(x, mask)
        return self.head(self.ln(x))


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


def main(logdir, faulty):
    del faulty  # healthy only
    chars = sorted(set(TEXT))
    stoi = {c: i for i, c in enumerate(chars)}
    data = np.array([stoi[c] for c in TEXT], dtype=np.int32)
    rng = np.random.default_rng(1337)

    def get_batch():
        ix = rng.integers(0, len(data) - block_size - 1, batch_size)
        windows = ix[:, None] + np.arange(block_size)
        return data[windows], data[windows + 1]

    model = GPT(len(chars), rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(3e-4), wrt=nnx.Param)

    for _ in range(3):
        loss = train_step(model, optimizer, *get_batch())
    loss.block_until_ready()

    with jax.profiler.trace(logdir):
        for step in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                loss = train_step(model, optimizer, *get_batch())
        loss.block_until_ready()
    print(f"loss {float(loss):.3f}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
