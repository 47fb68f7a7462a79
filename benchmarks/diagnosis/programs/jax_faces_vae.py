"""A variational autoencoder with an optimizer of chained parts, as optax has them, whose update is jitted or is not."""

import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

PIXELS, BATCH = 400, 512
STEPS = 12


class Transform(NamedTuple):
    init: object
    update: object


def clip(largest):
    def update(gradients, state, params):
        norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradients)))
        return jax.tree.map(lambda g: g * jnp.minimum(1.0, largest / (norm + 1e-9)), gradients), state

    return Transform(lambda params: (), update)


def by_rms(decay):
    def update(gradients, state, params):
        state = jax.tree.map(lambda s, g: decay * s + (1 - decay) * g**2, state, gradients)
        return jax.tree.map(lambda g, s: g / (jnp.sqrt(s) + 1e-6), gradients, state), state

    return Transform(lambda params: jax.tree.map(jnp.zeros_like, params), update)


def decayed(rate, weight):
    def update(gradients, state, params):
        return jax.tree.map(lambda g, p: -rate * (g + weight * p), gradients, params), state

    return Transform(lambda params: (), update)


def chain(*parts):
    def update(gradients, states, params):
        new = []
        for part, old in zip(parts, states, strict=True):
            gradients, state = part.update(gradients, old, params)
            new.append(state)
        return jax.tree.map(jnp.add, params, gradients), tuple(new)

    return Transform(lambda params: tuple(part.init(params) for part in parts), update)


def dense(layer, x):
    return x @ layer["w"] + layer["b"]


@jax.jit
def gradients_of(params, key, faces):
    def loss_fn(params):
        hidden = faces
        for layer in params["encoder"]["hidden"]:
            hidden = jax.nn.gelu(dense(layer, hidden))
        mean, spread = dense(params["encoder"]["mean"], hidden), dense(params["encoder"]["spread"], hidden)
        hidden = mean + jnp.exp(spread) * jax.random.normal(key, mean.shape)
        for layer in params["decoder"]:
            hidden = jax.nn.gelu(dense(layer, hidden))
        divergence = 0.5 * jnp.mean(mean**2 + jnp.exp(2 * spread) - 2 * spread)
        return jnp.mean((hidden - faces) ** 2) + divergence

    return jax.value_and_grad(loss_fn)(params)


def main(logdir, faulty):
    random = np.random.default_rng(2)

    def layer(size_in, size_out):
        return {"w": jnp.asarray(random.normal(0, 0.05, (size_in, size_out)), jnp.float32), "b": jnp.zeros(size_out)}

    params = {
        "encoder": {
            "hidden": [layer(PIXELS, 128), layer(128, 128)],
            "mean": layer(128, 16),
            "spread": layer(128, 16),
        },
        "decoder": [layer(16, 128), layer(128, 128), layer(128, PIXELS)],
    }
    optimizer = chain(clip(1.0), by_rms(0.95), decayed(1e-3, 1e-4))
    update = optimizer.update if faulty else jax.jit(optimizer.update)
    state = optimizer.init(params)
    faces = jnp.asarray(random.random((BATCH, PIXELS), np.float32))
    keys = jax.random.split(jax.random.key(2), 100)

    def fit(params, state, keys):
        for key in keys:
            _, gradients = gradients_of(params, key, faces)
            params, state = update(gradients, state, params)
        jax.block_until_ready(params)
        return params, state

    params, state = fit(params, state, list(keys[:4]))
    keys = list(keys[4 : 4 + STEPS])
    jax.profiler.start_trace(logdir)
    fit(params, state, keys)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
