"""Forecasts traffic with a deep narrow network and Adam; the update is part of the jitted step, or runs outside of it."""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

BATCH, SENSORS, WIDTH, LAYERS = 256, 96, 128, 10
STEPS = 12


def gradients_of(params, past, following):
    def loss_fn(params):
        x = past @ params["in"]
        for weights, bias in params["layers"]:
            x = x + jnp.tanh(x @ weights + bias)
        return jnp.mean((x @ params["out"] - following) ** 2)

    return jax.grad(loss_fn)(params)


def adam(params, first, second, gradients, number):
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    scale = 1e-3 * jnp.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    params = jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, first, second


def main(logdir, faulty):
    random = np.random.default_rng(14)

    def normal(*shape):
        return jnp.asarray(random.normal(0, 0.05, shape), jnp.float32)

    layers = [(normal(WIDTH, WIDTH), jnp.zeros(WIDTH)) for _ in range(LAYERS)]
    params = {"in": normal(SENSORS, WIDTH), "layers": layers, "out": normal(WIDTH, SENSORS)}
    state = params, jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
    past, following = (jnp.asarray(random.random((BATCH, SENSORS), np.float32)) for _ in range(2))

    if faulty:
        compiled = jax.jit(gradients_of)

        def train_step(state, number):
            return adam(*state, compiled(state[0], past, following), number)
    else:

        @partial(jax.jit, donate_argnums=0)
        def train_step(state, number):
            return adam(*state, gradients_of(state[0], past, following), number)

    def train(state, steps):
        for number in range(1, steps + 1):
            state = train_step(state, float(number))
        return jax.block_until_ready(state)

    state = train(state, 3)
    with jax.profiler.trace(logdir):
        train(state, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
