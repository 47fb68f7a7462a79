import os

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

PULSARS, FREQUENCIES, WALKERS = 30, 50, 6
LOW, HIGH = jnp.array([-2.0, -1.0]), jnp.array([4.0, 7.0])


def power_law(frequency, parameters):
    amplitude, tilt = parameters
    return 10.0**amplitude * (frequency / frequency[0]) ** (-tilt)


@jax.jit
def log_likelihood(data, signal, response, noise):
    covariance = response * signal[:, None, None] + noise
    inverse = jnp.linalg.inv(covariance)
    _, logdet = jnp.linalg.slogdet(covariance)
    data_term = jnp.abs(jnp.einsum("fij,fji->f", inverse, data))
    return -jnp.sum(logdet + data_term)


@jax.jit
def log_posterior(parameters, data, frequency, response, noise):
    inside = jnp.all((parameters > LOW) & (parameters < HIGH))
    signal = power_law(frequency, parameters)
    return jnp.where(inside, log_likelihood(data, signal, response, noise), -jnp.inf)


def make_data(rng):
    frequency = np.arange(1, FREQUENCIES + 1) / 10.0
    positions = rng.normal(size=(PULSARS, 3))
    positions /= np.linalg.norm(positions, axis=1, keepdims=True)
    x = np.clip((1 - positions @ positions.T) / 2, 1e-9, 1)
    overlap = 1.5 * x * np.log(x) - 0.25 * x + 0.5 + 0.5 * np.eye(PULSARS)
    response = np.repeat(overlap[None], FREQUENCIES, axis=0)
    noise = np.stack([np.diag(rng.uniform(0.5, 2.0, PULSARS)) for _ in range(FREQUENCIES)])
    signal = np.asarray(power_law(frequency, (0.5, 2.0)))
    lower = np.linalg.cholesky(response * signal[:, None, None] + noise)
    drawn = np.einsum("fij,fj->fi", lower, rng.normal(size=(FREQUENCIES, PULSARS)))
    data = drawn[:, :, None] * drawn[:, None, :]
    return tuple(jnp.array(a) for a in (data, frequency, response, noise))


def sample(steps):
    rng = np.random.default_rng(0)
    arguments = make_data(rng)
    walkers = rng.uniform((0.0, 1.0), (1.0, 3.0), size=(WALKERS, 2))
    heights = np.array([float(log_posterior(w, *arguments)) for w in walkers])
    chain = []
    for step in range(steps):
        for k in range(WALKERS):
            other = walkers[(k + rng.integers(1, WALKERS)) % WALKERS]
            stretch = (1 + rng.random()) ** 2 / 2
            proposal = other + stretch * (walkers[k] - other)
            height = float(log_posterior(proposal, *arguments))
            if np.log(rng.random()) < np.log(stretch) + height - heights[k]:
                walkers[k], heights[k] = proposal, height
        chain.append(walkers.copy())
        if step % 200 == 0:
            print(step, heights.max(), walkers.mean(0), flush=True)
    print(np.mean(chain, axis=(0, 1)))


sample(int(os.environ.get("STEPS", 1600)))
