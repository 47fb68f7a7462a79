"""Fails in its third step."""

import jax
import jax.numpy as jnp

step = jax.jit(lambda w: w @ w)
w = jnp.ones((64, 64))
for number in range(10):
    w = step(w)
    if number == 2:
        raise ValueError("the batch has the wrong shape")
