"""Sorts stars into clusters by expectation and maximisation; each of its rounds prints its likelihood, or none does."""

import contextlib
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np

STARS, SIZES, CLUSTERS, ROUNDS = 1500, 4, 12, 25
STEPS = 12


def main(logdir, faulty):
    def improve(clusters, _, stars):
        apart = jnp.sum((stars[:, None] - clusters["centre"]) ** 2, axis=2) / clusters["width"]
        chances = jax.nn.log_softmax(clusters["weight"]) - apart - 0.5 * SIZES * jnp.log(clusters["width"])
        likelihood = jnp.mean(jax.nn.logsumexp(chances, axis=1))
        if faulty:
            jax.debug.print("likelihood {x}", x=likelihood)
        shares = jax.nn.softmax(chances, axis=1)
        total = shares.sum(axis=0) + 1e-3
        centre = shares.T @ stars / total[:, None]
        width = jnp.sum(shares * apart * clusters["width"], axis=0) / total + 1e-2
        return {"centre": centre, "width": width, "weight": jnp.log(total)}, likelihood

    @jax.jit
    def fit(clusters, stars):
        return jax.lax.scan(lambda carried, one: improve(carried, one, stars), clusters, length=ROUNDS)

    random = np.random.default_rng(10)
    sky = jnp.asarray(random.normal(size=(4, STARS, SIZES)), jnp.float32)
    clusters = {
        "centre": jnp.asarray(random.normal(size=(CLUSTERS, SIZES)), jnp.float32),
        "width": jnp.ones(CLUSTERS),
        "weight": jnp.zeros(CLUSTERS),
    }

    def go_over(clusters, parts):
        for number in range(parts):
            clusters, _ = fit(clusters, sky[number % 4])
        jax.block_until_ready(clusters)
        jax.effects_barrier()
        return clusters

    with open(os.devnull, "w") as out, contextlib.redirect_stdout(out):  # noqa: PTH123
        clusters = go_over(clusters, 3)
        with jax.profiler.trace(logdir):
            go_over(clusters, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
