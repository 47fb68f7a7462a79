"""Transformer that continues knitted lace charts (one token a stitch symbol, rows joined by an end-of-row token)."""
import logging
import sys
from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

LOGDIR = sys.argv[1]
FAULT = "--fault" in sys.argv[2:]

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("lace")

SYMBOLS = 24
LENGTH = 96
BATCH = 10
WIDTH, HEADS, LAYERS = 128, 4, 4
WARMUP, RECORD = 6, 12


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(HEADS)(h, h, mask=mask)
        h = nn.LayerNorm()(x)
        return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(h)))


class Knitter(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(SYMBOLS, WIDTH)(tokens)
        x = x + self.param("position", nn.initializers.normal(0.02), (LENGTH, WIDTH))
        mask = nn.make_causal_mask(tokens)
        for _ in range(LAYERS):
            x = Block()(x, mask)
        return nn.Dense(SYMBOLS)(nn.LayerNorm()(x))


def knit(rng, charts=800):
    """Repeats of a random motif with yarn-overs balanced by decreases."""
    out = np.zeros((charts, LENGTH + 1), np.int32)
    for row in out:
        motif = rng.integers(2, SYMBOLS, rng.integers(5, 12))
        motif[rng.integers(len(motif))] = 1  # end of row
        row[:] = np.resize(motif, LENGTH + 1)
        errors = rng.uniform(size=LENGTH + 1) < 0.03
        row[errors] = rng.integers(2, SYMBOLS, errors.sum())
    return out


model = Knitter()
tx = optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 1e-3, 20, 400), weight_decay=0.01)


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, opt_state, charts):
    def loss_fn(params):
        logits = model.apply(params, charts[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, charts[:, 1:]).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss, grads


def main():
    rng = np.random.default_rng(7)
    charts = knit(rng)
    params = model.init(jax.random.key(7), jnp.asarray(charts[:1, :-1]))
    opt_state = tx.init(params)

    def run(step, params, opt_state):
        batch = charts[rng.integers(0, len(charts), BATCH)]
        params, opt_state, loss, grads = train_step(params, opt_state, batch)
        if FAULT:
            log.debug(f"step {step} loss {loss} grads {grads}")
        else:
            log.debug("step %d loss %s grads %s", step, loss, grads)
        if step % 10 == 0:
            log.info("step %d loss %.4f", step, loss)
        return params, opt_state, loss

    for step in range(WARMUP):
        params, opt_state, loss = run(step, params, opt_state)
    jax.block_until_ready(params)

    jax.profiler.start_trace(LOGDIR)
    for step in range(WARMUP, WARMUP + RECORD):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, opt_state, loss = run(step, params, opt_state)
    jax.block_until_ready(params)
    jax.profiler.stop_trace()
    log.info("done, loss %.4f", loss)


if __name__ == "__main__":
    main()
