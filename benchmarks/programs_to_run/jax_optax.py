"""Optax, in a loop that evaluates its gradient outside of jit."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from step_times import tick


def loss_fn(params, x, y):
    for w in params[:-1]:
        x = jax.nn.relu(x @ w)
    return jnp.mean((x @ params[-1] - y) ** 2)


params = [jnp.ones((128, 128)) * 0.01 for _ in range(3)]
optimizer = optax.adam(1e-3)
state = optimizer.init(params)
x, y = (jnp.asarray(np.random.rand(256, 128), jnp.float32) for _ in range(2))
for _ in range(int(sys.argv[1])):
    gradients = jax.grad(loss_fn)(params, x, y)
    updates, state = optimizer.update(gradients, state, params)
    params = optax.apply_updates(params, updates)
    jax.block_until_ready(params)
    tick()
