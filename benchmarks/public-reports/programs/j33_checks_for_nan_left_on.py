import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

jax.config.update("jax_debug_nans", True)

FEATURES, WIDTH, DEPTH, ACTIONS, BATCH = 20, 48, 6, 5, 64
OPTIMIZER = optax.adam(3e-4)


def init(rng):
    def dense(inputs, outputs):
        weight = rng.normal(size=(inputs, outputs)) / np.sqrt(inputs)
        return {"weight": jnp.float32(weight), "bias": jnp.zeros(outputs)}

    def block():
        return {"scale": jnp.ones(WIDTH), "up": dense(WIDTH, WIDTH), "down": dense(WIDTH, WIDTH)}

    return {"in": dense(FEATURES, WIDTH), "blocks": [block() for _ in range(DEPTH)], "out": dense(WIDTH, ACTIONS)}


def values(params, x):
    def linear(layer, x):
        return x @ layer["weight"] + layer["bias"]

    x = linear(params["in"], x)
    for block in params["blocks"]:
        normed = block["scale"] * x / jnp.sqrt(jnp.mean(x**2, axis=1, keepdims=True) + 1e-6)
        x = x + linear(block["down"], jax.nn.silu(linear(block["up"], normed)))
    return linear(params["out"], x)


@jax.jit
def update(params, target, state, seen, actions, rewards, following):
    def loss_fn(p):
        chosen = jnp.take_along_axis(values(p, seen), actions[:, None], axis=1)[:, 0]
        later = values(target, following).max(axis=1)
        return optax.huber_loss(chosen, rewards + 0.9 * later).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, state = OPTIMIZER.update(grads, state)
    params = optax.apply_updates(params, updates)
    return params, optax.incremental_update(params, target, 0.01), state, loss


def train(steps):
    rng = np.random.default_rng(0)
    params = target = init(rng)
    state = OPTIMIZER.init(params)
    matrix = rng.normal(size=(ACTIONS, FEATURES, FEATURES)) / FEATURES**0.5
    for step in range(steps):
        seen = rng.normal(size=(BATCH, FEATURES))
        actions = rng.integers(ACTIONS, size=BATCH)
        following = np.tanh(np.einsum("bij,bj->bi", matrix[actions], seen))
        params, target, state, loss = update(params, target, state, seen, actions, following[:, 0], following)
        if step % 200 == 0:
            print(step, float(loss))


train(int(os.environ.get("STEPS", 12000)))
