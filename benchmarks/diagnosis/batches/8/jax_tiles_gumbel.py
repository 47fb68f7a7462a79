"""Discrete autoencoder of floor-tile patterns with a Gumbel-softmax code (equinox)."""

import argparse
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

SIZE = 24
CODES, SYMBOLS = 24, 16
BATCH = 768


class TileCoder(eqx.Module):
    encoder: eqx.nn.MLP
    decoder: eqx.nn.MLP
    temperature: float | jax.Array

    def __init__(self, temperature, key):
        a, b = jax.random.split(key)
        self.encoder = eqx.nn.MLP(SIZE * SIZE, CODES * SYMBOLS, 768, 2, activation=jax.nn.gelu, key=a)
        self.decoder = eqx.nn.MLP(CODES * SYMBOLS, SIZE * SIZE, 768, 2, activation=jax.nn.gelu, key=b)
        self.temperature = temperature

    def __call__(self, tile, noise):
        logits = self.encoder(tile).reshape(CODES, SYMBOLS)
        code = jax.nn.softmax((logits + noise) / self.temperature)
        usage = jax.nn.log_softmax(logits)
        kl = jnp.sum(jnp.exp(usage) * (usage + math.log(SYMBOLS)))
        return self.decoder(code.reshape(-1)), kl


def make_tiles(count=2048, seed=2):
    rng = np.random.default_rng(seed)
    corner = rng.random((count, 6, 6)) < 0.5
    half = np.concatenate([corner, corner[:, ::-1]], axis=1)
    tile = np.concatenate([half, half[:, :, ::-1]], axis=2)
    tile = np.kron(tile, np.ones((1, 2, 2)))
    return tile.reshape(count, -1).astype(np.float32)


def temperature_at(step, start=1.0, floor=0.3, rate=0.01):
    return max(floor, start * math.exp(-rate * step))


optimizer = optax.adam(1e-3)


@eqx.filter_value_and_grad
def loss_fn(trainable, static, tiles, key):
    model = eqx.combine(trainable, static)
    noise = jax.random.gumbel(key, (len(tiles), CODES, SYMBOLS))
    logits, kl = jax.vmap(model)(tiles, noise)
    fit = optax.sigmoid_binary_cross_entropy(logits, tiles).sum(axis=-1)
    return jnp.mean(fit + 0.1 * kl)


@eqx.filter_jit
def update(model, opt_state, tiles, key):
    spec = eqx.tree_at(lambda m: m.temperature, jax.tree.map(eqx.is_inexact_array, model), False)
    trainable, static = eqx.partition(model, spec)
    loss, grads = loss_fn(trainable, static, tiles, key)
    updates, opt_state = optimizer.update(grads, opt_state)
    return eqx.combine(eqx.apply_updates(trainable, updates), static), opt_state, loss


def main(logdir, fault):
    wrap = float if fault else jnp.asarray
    tiles = make_tiles()
    rng = np.random.default_rng(0)
    key = jax.random.key(5)
    model = TileCoder(wrap(temperature_at(0)), jax.random.key(1))
    spec = eqx.tree_at(lambda m: m.temperature, jax.tree.map(eqx.is_inexact_array, model), False)
    opt_state = optimizer.init(eqx.filter(model, spec))

    def epoch(first, last):
        nonlocal model, opt_state, key
        for step in range(first, last):
            with jax.profiler.StepTraceAnnotation("update", step_num=step):
                key, use = jax.random.split(key)
                if step % 10 == 0:
                    model = eqx.tree_at(lambda m: m.temperature, model, wrap(temperature_at(step)))
                batch = tiles[rng.integers(0, len(tiles), BATCH)]
                model, opt_state, loss = update(model, opt_state, batch, use)
        return loss.block_until_ready()

    epoch(0, 6)
    with jax.profiler.trace(logdir):
        loss = epoch(6, 16)
    print(f"loss {float(loss):.2f} at temperature {float(model.temperature):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    arguments = parser.parse_args()
    main(arguments.logdir, arguments.fault)
