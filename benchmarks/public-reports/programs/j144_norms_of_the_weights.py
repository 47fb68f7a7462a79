import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

WIDTHS = (96, 288, 96, 288, 96)
BATCH = 128


def init(rng):
    return [
        {"w": jnp.asarray(rng.normal(size=(rows, columns)) / np.sqrt(rows), jnp.float32),
         "b": jnp.zeros(columns)}
        for rows, columns in zip(WIDTHS[:-1], WIDTHS[1:])
    ]


def apply(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def lipschitz_penalty(params):
    norms = [jnp.linalg.norm(layer["w"], 2) for layer in params]
    return sum(jax.nn.relu(norm - 1.0) ** 2 for norm in norms)


def loss_fn(params, x, y):
    fit = jnp.mean((apply(params, x) - y) ** 2)
    return fit + 0.1 * lipschitz_penalty(params), fit


optimizer = optax.adam(1e-3)


@jax.jit
def train_step(params, opt_state, x, y):
    (_, fit), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, x, y)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, fit


def train(steps):
    rng = np.random.default_rng(0)
    params = init(rng)
    opt_state = optimizer.init(params)
    target = rng.normal(size=(WIDTHS[0], WIDTHS[-1])) / np.sqrt(WIDTHS[0])
    inputs = rng.normal(size=(4096, WIDTHS[0])).astype(np.float32)
    outputs = np.tanh(inputs @ target).astype(np.float32)
    for step in range(steps):
        rows = rng.integers(0, len(inputs), BATCH)
        params, opt_state, fit = train_step(params, opt_state, inputs[rows], outputs[rows])
        if step % 20 == 0:
            print(step, float(fit))


train(int(os.environ.get("STEPS", 500)))
