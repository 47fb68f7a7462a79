"""Finds the onset of earthquakes with a mixer and a chain of optimizer parts; jax_disable_jit is left on, or off."""

import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

BATCH, MOMENTS, CHANNELS, BLOCKS = 32, 64, 96, 2
STEPS = 8


class Part(NamedTuple):
    init: object
    update: object


def clip_by_global_norm(most):
    def update(updates, state):
        norm = jnp.sqrt(sum(jnp.sum(one**2) for one in jax.tree.leaves(updates)))
        return jax.tree.map(lambda one: one * jnp.minimum(1.0, most / norm), updates), state

    return Part(lambda params: (), update)


def scale_by_momentum(decay):
    def update(updates, state):
        state = jax.tree.map(lambda old, new: decay * old + new, state, updates)
        return state, state

    return Part(lambda params: jax.tree.map(jnp.zeros_like, params), update)


def chain(*parts):
    def update(updates, states):
        kept = []
        for part, state in zip(parts, states, strict=True):
            updates, state = part.update(updates, state)  # noqa: PLW2901
            kept.append(state)
        return updates, tuple(kept)

    return Part(lambda params: tuple(part.init(params) for part in parts), update)


optimizer = chain(clip_by_global_norm(1.0), scale_by_momentum(0.9))


def mixer(params, waves):
    for block in params["blocks"]:
        centred = waves - waves.mean(axis=-1, keepdims=True)
        waves = waves + jnp.einsum("btc,ts->bsc", jax.nn.gelu(centred), block["over_time"])
        waves = waves + jax.nn.gelu(waves @ block["widen"]) @ block["narrow"]
    return waves @ params["onset"]


@jax.jit
def train_step(params, state, waves, onsets):
    def loss_fn(params):
        chances = jax.nn.log_softmax(mixer(params, waves))
        return -jnp.mean(jnp.take_along_axis(chances, onsets[:, None], axis=1))

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    updates, state = optimizer.update(gradients, state)
    return jax.tree.map(lambda p, u: p - 0.01 * u, params, updates), state, loss


def main(logdir, faulty):
    jax.config.update("jax_disable_jit", faulty)
    random = np.random.default_rng(50)

    def matrix(*shape):
        return jnp.asarray(random.normal(0, 0.05, shape), jnp.float32)

    params = {
        "blocks": [
            {
                "over_time": matrix(MOMENTS, MOMENTS),
                "widen": matrix(CHANNELS, 2 * CHANNELS),
                "narrow": matrix(2 * CHANNELS, CHANNELS),
            }
            for _ in range(BLOCKS)
        ],
        "onset": matrix(CHANNELS),
    }
    state = optimizer.init(params)
    waves = jnp.asarray(random.normal(0, 1, (4, BATCH, MOMENTS, CHANNELS)), jnp.float32)
    batches = [(one, jnp.asarray(random.integers(0, MOMENTS, BATCH))) for one in waves]

    def train(params, state, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params, state, _ = train_step(params, state, *batches[number % len(batches)])
        return jax.block_until_ready((params, state))

    params, state = train(params, state, 4)
    with jax.profiler.trace(logdir):
        train(params, state, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
