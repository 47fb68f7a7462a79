"""A pmapped step over two devices of the CPU whose scan runs thousands of small ops, as a small GPT's or a sampler's does."""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

import jax
import jax.numpy as jnp
import numpy as np


def loss(weights: jax.Array, rows: jax.Array) -> jax.Array:
    def layer(carry: jax.Array, weight: jax.Array) -> tuple[jax.Array, None]:
        carry = jnp.tanh(carry @ weight)
        carry = carry - carry.mean(axis=-1, keepdims=True)
        return jnp.sin(carry) + jnp.sort(carry, axis=-1), None

    out, _ = jax.lax.scan(layer, rows, weights)
    return (out**2).mean()


def update(weights: jax.Array, rows: jax.Array) -> jax.Array:
    gradient = jax.lax.pmean(jax.grad(loss)(weights, rows), "devices")
    return weights - 0.01 * gradient


def main(seconds: float) -> None:
    step = jax.pmap(update, axis_name="devices")
    devices = jax.local_device_count()
    weights = jnp.array(np.random.default_rng(0).normal(size=(devices, 150, 8, 8)) / 3)
    rows = jnp.ones((devices, 4, 8))
    weights = step(weights, rows).block_until_ready()
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        weights = step(weights, rows).block_until_ready()
        steps += 1
    print(f"{steps} steps of {(time.perf_counter() - began) / steps * 1e3:.3f} ms")


main(float(sys.argv[1]) if len(sys.argv) > 1 else 40.0)
