"""Learns to take noise out of pictures of clouds; the settings, a static argument, change in each step or stay."""

import dataclasses
import sys
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

SIDE, CHANNELS, BATCH = 24, 16, 16
STEPS = 12


@dataclasses.dataclass(frozen=True)
class Settings:
    levels: int = 50
    rate: float = 1e-3
    seen: int = 0


class State(NamedTuple):
    params: dict
    momentum: dict
    key: jax.Array


def conv(x, kernel):
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def denoise(params, noisy, level):
    hidden = jax.nn.silu(conv(noisy, params["in"]) + params["time"][level][:, None, None, :])
    hidden = hidden + jax.nn.silu(conv(hidden, params["middle"]))
    return conv(hidden, params["out"])


@partial(jax.jit, static_argnames="settings")
def train(state, images, settings):
    key, for_level, for_noise = jax.random.split(state.key, 3)
    level = jax.random.randint(for_level, (BATCH,), 0, settings.levels)
    noise = jax.random.normal(for_noise, images.shape)
    keep = (1 - level / settings.levels)[:, None, None, None]

    def loss_fn(params):
        return jnp.mean((denoise(params, keep * images + (1 - keep) * noise, level) - noise) ** 2)

    loss, gradients = jax.value_and_grad(loss_fn)(state.params)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state.momentum, gradients)
    params = jax.tree.map(lambda p, m: p - settings.rate * m, state.params, momentum)
    return State(params, momentum, key), loss


def main(logdir, faulty):
    random = np.random.default_rng(1)
    sizes = {"in": (3, 3, 3, CHANNELS), "middle": (3, 3, CHANNELS, CHANNELS), "out": (3, 3, CHANNELS, 3)}
    params = {name: jnp.asarray(random.normal(0, 0.1, size), jnp.float32) for name, size in sizes.items()}
    params["time"] = jnp.zeros((50, CHANNELS))
    state = State(params, jax.tree.map(jnp.zeros_like, params), jax.random.key(1))
    clouds = [jnp.asarray(random.random((BATCH, SIDE, SIDE, 3), np.float32)) for _ in range(4)]
    settings = Settings()

    def loop(state, settings, steps):
        losses = []
        for number in range(steps):
            if faulty:
                settings = dataclasses.replace(settings, seen=settings.seen + BATCH)
            state, loss = train(state, clouds[number % 4], settings)
            losses.append(loss)
        jax.block_until_ready(losses)
        return state, settings

    state, settings = loop(state, settings, 3)
    with jax.profiler.trace(logdir):
        loop(state, settings, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
