import os
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jax.scipy.stats import norm

DIMENSIONS, CHAINS, SAMPLES = 4, 16, 2000


def mixture_logpdf(locations, scales, weights, x):
    return logsumexp(jnp.log(weights)[:, None] + norm.logpdf(x, locations[:, None], scales[:, None]), axis=0)


@partial(jax.jit, static_argnums=(1,))
def rw_metropolis_kernel(rng_key, logpdf, position, log_prob):
    key1, key2 = jax.random.split(rng_key)
    proposal = position + 0.3 * jax.random.normal(key1, position.shape)
    proposal_log_prob = logpdf(proposal)
    accept = jnp.log(jax.random.uniform(key2, log_prob.shape)) < proposal_log_prob - log_prob
    return jnp.where(accept, proposal, position), jnp.where(accept, proposal_log_prob, log_prob)


def rw_metropolis_sampler(rng_key, logpdf, initial_position):
    position, log_prob = initial_position, logpdf(initial_position)
    while True:
        rng_key, sub_key = jax.random.split(rng_key)
        position, log_prob = rw_metropolis_kernel(sub_key, logpdf, position, log_prob)
        yield position


def draw(rng_key, logpdf, initial_position, n_samples):
    sampler = rw_metropolis_sampler(rng_key, logpdf, initial_position)
    return np.stack(jax.device_get([next(sampler) for _ in range(n_samples)]))


def effective_size(samples):
    centred = np.asarray(samples) - np.mean(samples, axis=0)
    spectrum = np.abs(np.fft.rfft(centred, 2 * len(centred), axis=0)) ** 2
    autocorrelation = np.fft.irfft(spectrum, axis=0)[: len(centred)].mean(axis=(1, 2))
    positive = np.cumprod(autocorrelation > 0).astype(bool)
    return samples.size / (2 * np.sum(autocorrelation[positive]) / autocorrelation[0] - 1)


def main(runs):
    locations = jnp.array([-2.0, 0.0, 3.2, 2.5])
    scales = jnp.array([1.2, 1.0, 5.0, 2.8])
    weights = jnp.array([0.2, 0.3, 0.1, 0.4])

    def logpdf(x):
        return jax.vmap(lambda row: mixture_logpdf(locations, scales, weights, row))(x).sum(0)

    position = jnp.zeros((DIMENSIONS, CHAINS))
    for run in range(runs):
        samples = draw(jax.random.PRNGKey(run), logpdf, position, SAMPLES)
        position = samples[-1]
        print(f"run {run}: mean {samples.mean():.3f}, effective samples {effective_size(samples):.0f}")


main(int(os.environ.get("STEPS", 28)))
