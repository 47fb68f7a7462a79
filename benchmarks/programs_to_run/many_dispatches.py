"""A loop of tiny dispatches, some 20,000 a second, each of which a profiler writes down with all that is inside it."""

from __future__ import annotations

import sys
import time

import jax
import jax.numpy as jnp


@jax.jit
def nudge(value: jax.Array) -> jax.Array:
    return value * 0.999 + 0.001


def train_step(value: jax.Array) -> jax.Array:
    for _ in range(200):
        value = nudge(value)
    return value


def main(seconds: float) -> None:
    value = jnp.ones(8)
    ended, steps = time.perf_counter() + seconds, 0
    began = time.perf_counter()
    while time.perf_counter() < ended:
        value = train_step(value).block_until_ready()
        steps += 1
    print(f"{steps} steps of {(time.perf_counter() - began) / steps * 1e3:.3f} ms")


main(float(sys.argv[1]) if len(sys.argv) > 1 else 40.0)
