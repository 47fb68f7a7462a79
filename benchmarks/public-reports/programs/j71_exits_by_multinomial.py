import os

import jax
import jax.numpy as jnp
import numpy as np

PARTICLES, SUBSTEPS, DT = 600, 7, 1 / 365
POPULATION, BIRTHS = 500_000.0, 25.0


def exits(key, count, rates):
    total = rates.sum()
    leave = -jnp.expm1(-total * DT) * rates / total
    probabilities = jnp.append(leave, 1.0 - leave.sum())
    return jax.random.multinomial(key, count, probabilities)[:-1]


def transition(state, key, theta, season):
    keys = jax.random.split(key, 4)
    noise = jnp.exp(0.1 * jax.random.normal(keys[0]) - 0.005)
    beta = theta["r0"] * theta["gamma"] * (1 + theta["amplitude"] * season) * noise
    force = beta * (state["I"] + theta["imports"]) / POPULATION
    counts = jnp.stack([state["S"], state["E"], state["I"]])
    rates = jnp.stack([jnp.stack([rate, theta["mu"]]) for rate in (force, theta["sigma"], theta["gamma"])])
    (infected, onset, removed), dead = jax.vmap(exits)(keys[1:], counts, rates).T
    return {
        "S": state["S"] + BIRTHS - infected - dead[0],
        "E": state["E"] + infected - onset - dead[1],
        "I": state["I"] + onset - removed - dead[2],
        "cases": state["cases"] + removed,
    }


@jax.jit
def propagate(particles, key, theta, week):
    particles = {**particles, "cases": jnp.zeros(PARTICLES)}

    def substep(particles, inputs):
        key, day = inputs
        season = jnp.cos(2 * jnp.pi * day / 365)
        keys = jax.random.split(key, PARTICLES)
        return jax.vmap(transition, (0, 0, None, None))(particles, keys, theta, season), None

    days = 7.0 * week + jnp.arange(SUBSTEPS)
    return jax.lax.scan(substep, particles, (jax.random.split(key, SUBSTEPS), days))[0]


@jax.jit
def weigh_and_resample(particles, key, reports, theta):
    mean = theta["rho"] * particles["cases"]
    scale = jnp.sqrt(mean * (1 - theta["rho"]) + (0.3 * mean) ** 2 + 4.0)
    log_weights = -0.5 * ((reports - mean) / scale) ** 2 - jnp.log(scale)
    log_likelihood = jax.nn.logsumexp(log_weights) - jnp.log(PARTICLES)
    positions = (jnp.arange(PARTICLES) + jax.random.uniform(key)) / PARTICLES
    ancestors = jnp.searchsorted(jnp.cumsum(jax.nn.softmax(log_weights)), positions)
    return {name: x[ancestors.clip(0, PARTICLES - 1)] for name, x in particles.items()}, log_likelihood


def filter_series(reports):
    theta = {"r0": 16.0, "gamma": 52.0, "sigma": 45.0, "mu": 0.02, "amplitude": 0.25, "imports": 5.0, "rho": 0.5}
    start = {"S": 0.07 * POPULATION, "E": 300.0, "I": 300.0, "cases": 0.0}
    particles = {name: jnp.full(PARTICLES, jnp.float32(int(x))) for name, x in start.items()}
    key, log_likelihood = jax.random.key(0), 0.0
    for week, count in enumerate(reports):
        key, move_key, pick_key = jax.random.split(key, 3)
        particles = propagate(particles, move_key, theta, week)
        particles, increment = weigh_and_resample(particles, pick_key, count, theta)
        log_likelihood += increment
        if week % 100 == 0:
            print(f"week {week}: log likelihood {float(log_likelihood):.1f} infectious {float(particles['I'].mean()):.0f}", flush=True)
    return float(log_likelihood)


weeks = int(os.environ.get("STEPS", 400))
rng = np.random.default_rng(0)
waves = 150 * np.exp(1.2 * np.cos(2 * np.pi * np.arange(weeks) / 52)) / 2
print(filter_series(rng.negative_binomial(10, 10 / (10 + waves)).astype(np.float32)))
