import os

import jax
import jax.numpy as jnp
import numpy as np

CELLS, GENES, DISPERSION = 300, 300, 1.5


@jax.jit
def sweep(key, state, counts):
    rate_key, depth_key, level_key = jax.random.split(key, 3)
    shape = DISPERSION + counts
    rate = jax.random.gamma(rate_key, shape) / (DISPERSION / state["level"] + state["depth"][:, None])
    depth = jax.random.gamma(depth_key, 20.0 + counts.sum(axis=1)) / (20.0 + rate.sum(axis=1))
    inverse = jax.random.gamma(level_key, jnp.full(GENES, 2.0 + CELLS * DISPERSION))
    level = (2.0 + DISPERSION * rate.sum(axis=0)) / inverse
    return {"depth": depth, "level": level}, rate


@jax.jit
def summarise(summary, state, rate):
    return {
        "level": summary["level"] + state["level"],
        "rate": summary["rate"] + rate,
        "squares": summary["squares"] + rate**2,
    }


def run(sweeps):
    rng = np.random.default_rng(0)
    depth, level = rng.gamma(20.0, 1 / 20.0, size=CELLS), rng.gamma(1.0, 3.0, size=GENES) + 0.1
    rates = rng.gamma(DISPERSION, level / DISPERSION, size=(CELLS, GENES))
    counts = jnp.asarray(rng.poisson(depth[:, None] * rates), jnp.float32)
    state = {"depth": jnp.ones(CELLS), "level": jnp.ones(GENES)}
    summary = {"level": jnp.zeros(GENES), "rate": jnp.zeros(counts.shape), "squares": jnp.zeros(counts.shape)}
    key = jax.random.key(0)
    for number in range(sweeps):
        state, rate = sweep(jax.random.fold_in(key, number), state, counts)
        summary = summarise(summary, state, rate)
        if number % 20 == 0:
            print(number, float(jnp.mean(summary["level"]) / (number + 1)), level.mean())


run(int(os.environ.get("STEPS", 850)))
