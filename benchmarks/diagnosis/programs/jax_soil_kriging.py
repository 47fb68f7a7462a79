"""Guesses what lies between drillings with a Gaussian process, under vmap alone or under jit as well."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

FIELDS, DRILLINGS = 8, 32
STEPS = 8


def covariance(settings, a, b):
    apart = jnp.sum(((a[:, None] - b[None]) / jnp.exp(settings["reach"])) ** 2, axis=-1)
    return jnp.exp(settings["height"]) * jnp.exp(-0.5 * apart)


def doubt(settings, places, values):
    matrix = covariance(settings, places, places) + (jnp.exp(settings["noise"]) + 1e-3) * jnp.eye(DRILLINGS)
    lower = jnp.linalg.cholesky(matrix)
    weights = jax.scipy.linalg.cho_solve((lower, True), values)
    return 0.5 * values @ weights + jnp.sum(jnp.log(jnp.diagonal(lower)))


def fit_once(settings, places, values):
    def of_all(settings):
        return jnp.mean(jax.vmap(doubt, (None, 0, 0))(settings, places, values))

    loss, slope = jax.value_and_grad(of_all)(settings)
    length = jnp.sqrt(sum(jnp.sum(one**2) for one in jax.tree.leaves(slope)))
    return {name: settings[name] - 0.01 * slope[name] / (1 + length) for name in settings}, loss


def main(logdir, faulty):
    random = np.random.default_rng(20)
    places = jnp.asarray(random.random((FIELDS, DRILLINGS, 2), np.float32))
    values = jnp.asarray(random.normal(size=(FIELDS, DRILLINGS)), jnp.float32)
    improve = fit_once if faulty else jax.jit(fit_once)

    def fit(settings, rounds):
        losses = []
        for _ in range(rounds):
            settings, loss = improve(settings, places, values)
            losses.append(loss)
        jax.block_until_ready((settings, losses))
        return settings

    settings = fit({"reach": jnp.zeros(2), "height": jnp.zeros(()), "noise": jnp.zeros(())}, 4)
    with jax.profiler.trace(logdir):
        fit(settings, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
