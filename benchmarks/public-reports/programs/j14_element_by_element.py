import os

import jax
import jax.numpy as jnp
import numpy as np

TERMS = 120


def spectrum(amplitudes, x):
    total = 0.0
    for order in range(TERMS):
        if order % 2:
            total = total + amplitudes[order] * jnp.sin(order * x)
        else:
            total = total + amplitudes[order] * jnp.cos(order * x)
    return total


def fit(steps):
    x = jnp.linspace(0.0, 3.0, 1000)
    wanted = jnp.exp(-x)
    amplitudes = jnp.zeros(TERMS)
    basis = jnp.stack([jnp.sin(k * x) if k % 2 else jnp.cos(k * x) for k in range(TERMS)])
    for step in range(steps):
        residual = spectrum(amplitudes, x) - wanted
        amplitudes = amplitudes - 0.3 * basis @ residual / 1000
        if step % 50 == 0:
            print(step, float(jnp.mean(residual**2)))


fit(int(os.environ.get("STEPS", 2500)))
