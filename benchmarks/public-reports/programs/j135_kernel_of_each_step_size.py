import os
import time
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

COUNTIES, HOMES, PATH_LENGTH, TARGET, WINDOW = 30, 600, 12, 0.8, 25
HMCState = namedtuple("HMCState", "position log_prob log_prob_grad")


def radon_model(county, floor, log_radon):
    def logpdf(x):
        mu, slope, log_tau, log_sigma, raw = x[0], x[1], x[2], x[3], x[4:]
        predicted = mu + jnp.exp(log_tau) * raw[county] + slope * floor
        prior = -0.5 * (mu**2 / 25 + slope**2 / 25 + log_tau**2 + log_sigma**2 + jnp.sum(raw**2))
        return prior - 0.5 * jnp.sum(((log_radon - predicted) / jnp.exp(log_sigma)) ** 2) - HOMES * log_sigma

    return logpdf


def gaussian_euclidean_metric(inverse_mass_matrix):
    shape = inverse_mass_matrix.shape
    momentum_generator = lambda rng_key: random.normal(rng_key, shape) / jnp.sqrt(inverse_mass_matrix)
    kinetic_energy = lambda momentum: 0.5 * jnp.sum(inverse_mass_matrix * momentum**2)
    return momentum_generator, kinetic_energy


def velocity_verlet(logpdf, kinetic_energy, step_size):
    def one_step(_, state):
        (position, _, grad), momentum = state
        momentum = momentum + 0.5 * step_size * grad
        position = position + step_size * jax.grad(kinetic_energy)(momentum)
        log_prob, grad = jax.value_and_grad(logpdf)(position)
        return HMCState(position, log_prob, grad), momentum + 0.5 * step_size * grad

    return one_step


def hmc_kernel(logpdf, step_size, inverse_mass_matrix):
    momentum_generator, kinetic_energy = gaussian_euclidean_metric(inverse_mass_matrix)
    integrator = velocity_verlet(logpdf, kinetic_energy, step_size)

    def kernel(rng_key, state):
        key_momentum, key_accept = random.split(rng_key)
        start = momentum_generator(key_momentum)
        proposal, end = jax.lax.fori_loop(0, PATH_LENGTH, integrator, (state, start))
        delta = proposal.log_prob - kinetic_energy(end) - state.log_prob + kinetic_energy(start)
        p_accept = jnp.minimum(1.0, jnp.exp(jnp.where(jnp.isnan(delta), -jnp.inf, delta)))
        accept = random.uniform(key_accept) < p_accept
        return jax.tree.map(lambda a, b: jnp.where(accept, a, b), proposal, state), p_accept

    return jax.jit(kernel)


def stan_warmup(rng_key, logpdf, state, num_steps):
    step_size, error, inverse_mass_matrix, draws = 0.02, 0.0, np.ones(state.position.shape, "f4"), []
    for i in range(num_steps):
        kernel = hmc_kernel(logpdf, step_size, inverse_mass_matrix)
        state, p_accept = kernel(random.fold_in(rng_key, i), state)
        error += TARGET - float(p_accept)
        step_size = 0.2 * float(np.exp(-np.sqrt(i + 1) / (0.05 * (i + 11)) * error))
        draws.append(np.asarray(state.position))
        if (i + 1) % WINDOW == 0:
            inverse_mass_matrix, draws = np.var(draws, 0) + 1e-3, []
        if i % 5 == 0:
            print(f"warmup {i} accept {float(p_accept):.2f} step {step_size:.4f}", flush=True)
    return state, step_size, inverse_mass_matrix


rng, key, began, position = np.random.default_rng(0), random.key(0), time.time(), jnp.zeros(4 + COUNTIES)
county, floor = rng.integers(0, COUNTIES, HOMES), rng.integers(0, 2, HOMES)
log_radon = 1.3 + rng.normal(0, 0.4, COUNTIES)[county] - 0.6 * floor + rng.normal(0, 0.7, HOMES)
logpdf = radon_model(county, floor, log_radon.astype("f4"))
state = HMCState(position, *jax.value_and_grad(logpdf)(position))
state, *parameters = stan_warmup(key, logpdf, state, int(os.environ.get("STEPS", 18)))
print(f"warmup took {time.time() - began:.1f} s", flush=True)
