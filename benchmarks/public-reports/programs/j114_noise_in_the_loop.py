import os
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import while_loop
from jax.nn import sigmoid, softplus
from jax.random import PRNGKey, normal, split

UNITS, ITERATIONS = 64, 8000


class State(NamedTuple):
    rng: jax.Array
    activity: jax.Array
    trace: jax.Array
    iteration: jax.Array


def init(rng):
    k1, k2, k3 = split(rng, 3)
    return {
        "w": normal(k1, (UNITS, UNITS)) / UNITS**0.5,
        "b": 0.1 * normal(k2, (UNITS,)),
        "spread": normal(k3, (UNITS,)) - 2.0,
    }


@jax.jit
def infer(params, stimulus, rng):
    """Settles the noisy activity of the network under one stimulus."""

    def cond_fun(state):
        return state.iteration < ITERATIONS

    def body_fun(state):
        rng, k1, k2 = split(state.rng, 3)
        noise = normal(k1, (UNITS,)) * softplus(params["spread"])
        seen = stimulus + 0.3 * normal(k2, (UNITS,))
        drive = state.activity @ params["w"] + params["b"] + seen + noise
        activity = 0.95 * state.activity + 0.05 * sigmoid(drive)
        trace = 0.999 * state.trace + 0.001 * activity
        return State(rng, activity, trace, state.iteration + 1)

    first = State(rng, jnp.zeros(UNITS), jnp.zeros(UNITS), jnp.asarray(0))
    return while_loop(cond_fun, body_fun, first).trace


def main(presentations):
    rng, key = split(PRNGKey(0))
    params = init(key)
    total = jnp.zeros(UNITS)
    for presentation in range(presentations):
        rng, for_stimulus, for_noise = split(rng, 3)
        stimulus = normal(for_stimulus, (UNITS,))
        total += infer(params, stimulus, for_noise)
        if presentation % 100 == 0:
            print(presentation, float(total.mean()) / (presentation + 1), flush=True)


main(int(os.environ.get("STEPS", 1200)))
