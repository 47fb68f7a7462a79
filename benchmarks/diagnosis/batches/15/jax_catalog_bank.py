"""Instance discrimination over a product catalogue with a memory bank of embeddings (Flax linen, optax)."""
import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct

ITEMS = 98_304
FEATURES = 160
EMBED = 128
BATCH = 192
NEGATIVES = 1024
TEMPERATURE = 0.1
MOMENTUM = 0.5


def catalogue(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 200, ITEMS)
    centres = rng.integers(0, 200, (200, FEATURES), dtype=np.uint8)
    return centres[groups] + rng.integers(0, 56, (ITEMS, FEATURES), dtype=np.uint8)


class Tower(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = x.astype(jnp.float32) / 128.0 - 1.0
        for width in (512, 512):
            x = nn.gelu(nn.LayerNorm()(nn.Dense(width)(x)))
        x = nn.Dense(EMBED)(x)
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


tower = Tower()
tx = optax.adam(optax.linear_schedule(0.0, 1e-3, 50))


@struct.dataclass
class Learner:
    params: dict
    opt: optax.OptState
    key: jax.Array


def create(seed):
    key, k1, k2 = jax.random.split(jax.random.key(seed), 3)
    params = tower.init(k1, jnp.zeros((1, FEATURES), jnp.uint8))
    bank = jax.random.normal(k2, (ITEMS, EMBED))
    bank = bank / jnp.linalg.norm(bank, axis=1, keepdims=True)
    return Learner(params, tx.init(params), key), bank


def jitter(key, x):
    k1, k2 = jax.random.split(key)
    kept = jax.random.bernoulli(k1, 0.85, x.shape)
    shift = jax.random.randint(k2, x.shape, 0, 8).astype(jnp.uint8)
    return jnp.where(kept, x + jnp.minimum(shift, 255 - x), 0)


@jax.jit
def update(learner, bank, rows, x):
    key, view, draw = jax.random.split(learner.key, 3)
    positive = bank[rows]
    negative = bank[jax.random.randint(draw, (NEGATIVES,), 0, ITEMS)]

    def contrast(params):
        z = tower.apply(params, jitter(view, x))
        near = jnp.sum(z * positive, -1, keepdims=True)
        logits = jnp.concatenate([near, z @ negative.T], 1) / TEMPERATURE
        labels = jnp.zeros(len(x), jnp.int32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), z

    (loss, z), grads = jax.value_and_grad(contrast, has_aux=True)(learner.params)
    deltas, opt = tx.update(grads, learner.opt)
    fresh = MOMENTUM * positive + (1 - MOMENTUM) * z
    fresh = fresh / jnp.linalg.norm(fresh, axis=-1, keepdims=True)
    return Learner(
        params=optax.apply_updates(learner.params, deltas),
        opt=opt,
        key=key,
    ), fresh, loss


def remember(bank, rows, fresh):
    return bank.at[rows].set(fresh)


class Batches:
    def __init__(self, table, seed):
        self.table, self.rng = table, np.random.default_rng(seed)

    def __iter__(self):
        return self

    def __next__(self):
        rows = self.rng.choice(ITEMS, BATCH, replace=False, shuffle=False).astype(np.int32)
        return rows, self.table[rows]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()

    batches = Batches(catalogue(0), 1)
    learner, bank = create(0)
    write = jax.jit(remember) if args.fault else jax.jit(remember, donate_argnums=0)

    for _ in range(8):
        rows, x = next(batches)
        learner, fresh, loss = update(learner, bank, rows, x)
        bank = write(bank, rows, fresh)
    jax.block_until_ready((learner, bank))

    jax.profiler.start_trace(args.logdir)
    for _, (rows, x) in zip(range(12), batches):
        learner, fresh, loss = update(learner, bank, rows, x)
        bank = write(bank, rows, fresh)
    jax.block_until_ready((learner, bank))
    jax.profiler.stop_trace()
    print("last loss", float(loss))


if __name__ == "__main__":
    main()
