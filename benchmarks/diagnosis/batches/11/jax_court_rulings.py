"""Field of law of court rulings: a small equinox transformer over word pieces."""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

VOCAB, FIELDS, WIDTH, HEADS, DEPTH, BATCH, LONGEST = 8_000, 18, 128, 4, 2, 28, 192
BUCKETS = (96, 192)


def rulings(rng, count=4000):
    lengths = np.clip(rng.lognormal(4.5, 0.33, count), 24, LONGEST).astype(int)
    field = rng.integers(0, FIELDS, count)
    texts = [rng.zipf(1.3, n) % (VOCAB - FIELDS - 1) + FIELDS + 1 for n in lengths]
    for text, label in zip(texts, field):
        text[rng.integers(0, len(text), 4)] = label + 1
    return texts, field


class Block(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, key):
        a, b, c = jax.random.split(key, 3)
        self.attention = eqx.nn.MultiheadAttention(HEADS, WIDTH, key=a)
        self.norm1, self.norm2 = eqx.nn.LayerNorm(WIDTH), eqx.nn.LayerNorm(WIDTH)
        self.up = eqx.nn.Linear(WIDTH, 4 * WIDTH, key=b)
        self.down = eqx.nn.Linear(4 * WIDTH, WIDTH, key=c)

    def __call__(self, x, mask):
        y = jax.vmap(self.norm1)(x)
        x = x + self.attention(y, y, y, mask=mask[None, :] & mask[:, None])
        y = jax.vmap(self.norm2)(x)
        return x + jax.vmap(lambda v: self.down(jax.nn.gelu(self.up(v))))(y)


class Classifier(eqx.Module):
    pieces: eqx.nn.Embedding
    position: jax.Array
    blocks: list
    head: eqx.nn.Linear

    def __init__(self, key):
        a, b, c, d = jax.random.split(key, 4)
        self.pieces = eqx.nn.Embedding(VOCAB, WIDTH, key=a)
        self.position = 0.02 * jax.random.normal(b, (LONGEST, WIDTH))
        self.blocks = [Block(k) for k in jax.random.split(c, DEPTH)]
        self.head = eqx.nn.Linear(WIDTH, FIELDS, key=d)

    def __call__(self, tokens):
        mask = tokens > 0
        x = jax.vmap(self.pieces)(tokens) + self.position[: tokens.shape[0]]
        for block in self.blocks:
            x = block(x, mask)
        pooled = jnp.sum(x * mask[:, None], 0) / jnp.maximum(mask.sum(), 1)
        return self.head(pooled)


def pad_to_bucket(longest):
    return next(size for size in BUCKETS if size >= longest)


def pad_to_multiple(longest, multiple=16):
    return -(-longest // multiple) * multiple


def collate(texts, fields, padded_length):
    tokens = np.zeros((len(texts), padded_length(max(map(len, texts)))), np.int32)
    for row, text in zip(tokens, texts):
        row[: len(text)] = text
    return tokens, np.asarray(fields, np.int32)


def batches(rng, texts, field, padded_length):
    while True:
        order = rng.permutation(len(texts))
        # batches of similar length, drawn in random order
        chunks = [np.sort(part) for part in np.split(order, range(512, len(order), 512))]
        for chunk in chunks:
            chunk = chunk[np.argsort([len(texts[i]) for i in chunk], kind="stable")]
            for k in rng.permutation(len(chunk) // BATCH):
                rows = chunk[k * BATCH : (k + 1) * BATCH]
                yield collate([texts[i] for i in rows], field[rows], padded_length)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    rng = np.random.default_rng(12)
    texts, field = rulings(rng)
    model = Classifier(jax.random.key(12))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-4))
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit(donate="all-except-first")
    def train_step(batch, model, state):
        def loss_fn(model):
            logits = jax.vmap(model)(batch[0])
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch[1]).mean()

        loss, grads = eqx.filter_value_and_grad(loss_fn)(model)
        updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, loss

    padded_length = pad_to_multiple if args.fault else pad_to_bucket
    for size in BUCKETS:
        tokens = np.ones((BATCH, size), np.int32)
        model, state, loss = train_step((tokens, np.zeros(BATCH, np.int32)), model, state)
    stream = batches(rng, texts, field, padded_length)
    for _ in range(5):
        model, state, loss = train_step(next(stream), model, state)
    loss.block_until_ready()

    jax.profiler.start_trace(args.logdir)
    for step in range(10):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            model, state, loss = train_step(next(stream), model, state)
            loss.block_until_ready()
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main()
