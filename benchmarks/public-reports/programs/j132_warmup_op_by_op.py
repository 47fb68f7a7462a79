import os
import time
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

NUM_DATA, DIM, NUM_STEPS, TARGET, LEARNED = 2000, 24, 10, 0.8, 100

Adapt = namedtuple("Adapt", "step_size inverse_mass log_average error mean m2")
HMCState = namedtuple("HMCState", "z potential_energy z_grad accept_prob adapt rng")


def logistic_regression(features, labels):
    def potential_fn(coefs):
        logits = features @ coefs
        return 0.5 * coefs @ coefs + jnp.sum(jnp.logaddexp(0.0, logits) - labels * logits)

    return potential_fn


def wa_update(t, accept_prob, z, a):
    """Dual averaging of the step size, Welford for the diagonal mass matrix."""
    error = a.error + TARGET - accept_prob
    log_step = jnp.log(0.1) - jnp.sqrt(t + 1.0) / (0.05 * (t + 11.0)) * error
    weight = (t + 1.0) ** -0.75
    log_average = weight * log_step + (1 - weight) * a.log_average
    mean = a.mean + (z - a.mean) / (t + 1.0)
    m2 = a.m2 + (z - a.mean) * (z - mean)
    inverse_mass = jnp.where(t == LEARNED, m2 / (t + 1.0) + 1e-4, a.inverse_mass)
    return Adapt(jnp.exp(log_step), inverse_mass, log_average, error, mean, m2)


def hmc(potential_fn):
    def sample_kernel(state):
        rng, key_r, key_u = random.split(state.rng, 3)
        step_size, inverse_mass = state.adapt.step_size, state.adapt.inverse_mass
        r = random.normal(key_r, (DIM,)) / jnp.sqrt(inverse_mass)
        energy_old = state.potential_energy + 0.5 * jnp.sum(inverse_mass * r**2)
        z, z_grad = state.z, state.z_grad
        for _ in range(NUM_STEPS):
            r = r - 0.5 * step_size * z_grad
            z = z + step_size * inverse_mass * r
            potential_energy, z_grad = jax.value_and_grad(potential_fn)(z)
            r = r - 0.5 * step_size * z_grad
        delta = potential_energy + 0.5 * jnp.sum(inverse_mass * r**2) - energy_old
        accept_prob = jnp.where(jnp.isnan(delta), 0.0, jnp.minimum(1.0, jnp.exp(-delta)))
        accept = random.uniform(key_u) < accept_prob
        old, new = (state.z, state.potential_energy, state.z_grad), (z, potential_energy, z_grad)
        moved = jax.tree.map(lambda a, b: jnp.where(accept, a, b), new, old)
        return HMCState(*moved, accept_prob, state.adapt, rng)

    def warmup_update(t, state):
        state = sample_kernel(state)
        return state._replace(adapt=wa_update(t, state.accept_prob, state.z, state.adapt))

    def init_kernel(z, num_warmup, rng):
        adapt = Adapt(jnp.array(0.01), jnp.ones(DIM), jnp.array(0.0), jnp.array(0.0), jnp.zeros(DIM), jnp.zeros(DIM))
        state = HMCState(z, *jax.value_and_grad(potential_fn)(z), jnp.array(0.0), adapt, rng)
        for t in range(num_warmup):
            state = warmup_update(t, state)
            if t % 100 == 0:
                print(f"warmup {t} accept {state.accept_prob:.2f} step {state.adapt.step_size:.4f}", flush=True)
        return state._replace(adapt=state.adapt._replace(step_size=jnp.exp(state.adapt.log_average)))

    return init_kernel, jax.jit(sample_kernel)


rng, steps, start = np.random.default_rng(0), int(os.environ.get("STEPS", 350)), time.time()
features = rng.normal(size=(NUM_DATA, DIM)).astype("float32")
labels = (rng.random(NUM_DATA) < 1 / (1 + np.exp(-features @ rng.normal(size=DIM)))).astype("float32")
init_kernel, sample_kernel = hmc(logistic_regression(jnp.asarray(features), jnp.asarray(labels)))
state, samples = init_kernel(jnp.zeros(DIM), steps, random.key(1)), []
print(f"warmup took {time.time() - start:.1f} s", flush=True)
for i in range(steps):
    state = sample_kernel(state)
    samples.append(state.z)
print("mean", np.mean(samples, 0)[:4], "accept", float(state.accept_prob), flush=True)
