import os

import jax
import jax.numpy as jnp
import numpy as np

TIMES, SPAN, WINDOW = 20_000, 200.0, 64


def drift(position):
    return jnp.stack([position[1], position[0] - position[0] ** 3 - 0.3 * position[1]])


@jax.jit
def simulate(key, position):
    dt = SPAN / TIMES

    def euler(carry, _):
        key, position = carry
        key, noise_key = jax.random.split(key)
        moved = jnp.sqrt(dt) * jax.random.normal(noise_key, position.shape)
        position = position + dt * drift(position) + jnp.array([0.0, 0.5]) * moved
        return (key, position), position

    return jax.lax.scan(euler, (key, position), length=TIMES)[1]


@jax.jit
def fit(weights, path):
    seen, following = path[:-WINDOW:WINDOW], path[WINDOW::WINDOW]

    def misfit(w):
        hidden = jnp.tanh(seen @ w["in"] + w["bias"])
        return jnp.mean((seen + hidden @ w["out"] - following) ** 2)

    loss, grads = jax.value_and_grad(misfit)(weights)
    return jax.tree.map(lambda w, g: w - 0.05 * g, weights, grads), loss


def train(rounds):
    rng = np.random.default_rng(0)
    weights = {
        "in": jnp.asarray(rng.normal(size=(2, 32)), jnp.float32),
        "bias": jnp.zeros(32),
        "out": jnp.asarray(rng.normal(size=(32, 2)) / 30, jnp.float32),
    }
    key = jax.random.key(0)
    for number in range(rounds):
        path = simulate(jax.random.fold_in(key, number), jnp.array([1.0, 0.0]))
        weights, loss = fit(weights, path)
        if number % 50 == 0:
            print(number, float(loss), float(jnp.std(path[:, 0])))


train(int(os.environ.get("STEPS", 7500)))
