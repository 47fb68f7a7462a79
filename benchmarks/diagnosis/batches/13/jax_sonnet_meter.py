"""Character model of sonnets (equinox, optax): predicts the next character and whether a syllable is stressed."""
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

CHARS, LENGTH, BATCH, DIM, HEADS, DEPTH = 64, 128, 6, 192, 6, 3


class Block(eqx.Module):
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    qkv: eqx.nn.Linear
    out: eqx.nn.Linear
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, key):
        k = jax.random.split(key, 4)
        self.norm1, self.norm2 = eqx.nn.LayerNorm(DIM), eqx.nn.LayerNorm(DIM)
        self.qkv = eqx.nn.Linear(DIM, 3 * DIM, use_bias=False, key=k[0])
        self.out = eqx.nn.Linear(DIM, DIM, use_bias=False, key=k[1])
        self.up = eqx.nn.Linear(DIM, 4 * DIM, key=k[2])
        self.down = eqx.nn.Linear(4 * DIM, DIM, key=k[3])

    def __call__(self, x):
        q, k, v = jnp.split(jax.vmap(self.qkv)(jax.vmap(self.norm1)(x)), 3, axis=-1)
        heads = lambda t: t.reshape(LENGTH, HEADS, DIM // HEADS)
        mixed = jax.nn.dot_product_attention(heads(q), heads(k), heads(v), is_causal=True)
        x = x + jax.vmap(self.out)(mixed.reshape(LENGTH, DIM))
        return x + jax.vmap(lambda t: self.down(jax.nn.gelu(self.up(t))))(jax.vmap(self.norm2)(x))


class Poet(eqx.Module):
    chars: eqx.nn.Embedding
    places: jax.Array
    blocks: list[Block]
    norm: eqx.nn.LayerNorm
    next_char: eqx.nn.Linear
    stress: eqx.nn.Linear

    def __init__(self, key):
        k = jax.random.split(key, DEPTH + 4)
        self.chars = eqx.nn.Embedding(CHARS, DIM, key=k[0])
        self.places = 0.02 * jax.random.normal(k[1], (LENGTH, DIM))
        self.blocks = [Block(b) for b in k[4:]]
        self.norm = eqx.nn.LayerNorm(DIM)
        self.next_char = eqx.nn.Linear(DIM, CHARS, key=k[2])
        self.stress = eqx.nn.Linear(DIM, 1, key=k[3])

    def __call__(self, text):
        x = jax.vmap(self.chars)(text) + self.places
        for block in self.blocks:
            x = block(x)
        x = jax.vmap(self.norm)(x)
        return jax.vmap(self.next_char)(x), jax.vmap(self.stress)(x)[:, 0]


def losses(model, batch):
    logits, stress = jax.vmap(model)(batch["text"].astype(jnp.int32))
    chars = optax.softmax_cross_entropy_with_integer_labels(logits, batch["next"].astype(jnp.int32)).mean()
    beat = optax.sigmoid_binary_cross_entropy(stress, batch["stress"].astype(jnp.float32)).mean()
    return chars + 0.3 * beat, {"chars": chars, "beat": beat}


schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 50, 2000)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, b2=0.98, weight_decay=0.05))


@eqx.filter_jit(donate="all-except-first")
def train_step(batch, model, opt_state):
    (_, parts), grads = eqx.filter_value_and_grad(losses, has_aux=True)(model, batch)
    updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, updates), opt_state, parts


def corpus(rng, count=400_000):
    text = (rng.zipf(1.4, count) % CHARS).astype("uint8")
    return text, (np.arange(count) // 3 % 2).astype("uint8")


def main(logdir):
    rng = np.random.default_rng(18)
    text, stress = corpus(rng)
    window = np.arange(LENGTH)

    def draw():
        at = rng.integers(0, len(text) - LENGTH - 1, BATCH)[:, None] + window
        return {"text": text[at], "next": text[at + 1], "stress": stress[at]}

    model = Poet(jax.random.key(18))
    opt_state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    history = []
    for step in range(22):
        if step == 8:
            jax.block_until_ready(parts)
            jax.profiler.start_trace(logdir)
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            batch = draw()
            model, opt_state, parts = train_step(batch, model, opt_state)
        history.append(parts)
        if step == 17:
            jax.block_until_ready(parts)
            jax.profiler.stop_trace()
    history = jax.device_get(history)
    print("nats per character", np.mean([h["chars"] for h in history[-5:]]))


if __name__ == "__main__":
    main(sys.argv[1])
