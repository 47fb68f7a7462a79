import os

import jax
import jax.numpy as jnp
import numpy as np

ARMS, TRIALS, GRID, NEWTON, PATIENTS = 3, 1000, 10, 6, 50


def prior_precision():
    variances = np.geomspace(0.01, 10.0, GRID)
    shared = np.ones((ARMS, ARMS)) * 4.0
    return jnp.asarray([np.linalg.inv(v * np.eye(ARMS) + shared) for v in variances], jnp.float32)


@jax.jit
def analyse(successes, precision):
    successes = successes[:, None, :]

    def newton(_, theta):
        chance = jax.nn.sigmoid(theta)
        gradient = successes - PATIENTS * chance - jnp.einsum("gij,tgj->tgi", precision, theta)
        weight = PATIENTS * chance * (1 - chance)
        curvature = precision + weight[..., None] * jnp.eye(ARMS)
        return theta + jnp.einsum("tgij,tgj->tgi", jnp.linalg.inv(curvature), gradient)

    theta = jax.lax.fori_loop(0, NEWTON, newton, jnp.zeros((TRIALS, GRID, ARMS)))
    likelihood = jnp.sum(successes * theta - PATIENTS * jax.nn.softplus(theta), axis=-1)
    prior = -0.5 * jnp.einsum("tgi,gij,tgj->tg", theta, precision, theta)
    weights = jax.nn.softmax(likelihood + prior, axis=1)
    estimate = jnp.einsum("tg,tgi->ti", weights, theta)
    return jnp.mean(estimate[:, 1:] - estimate[:, :1] > 0.6, axis=0)


def simulate(steps):
    rng = np.random.default_rng(0)
    precision = prior_precision()
    rejected = jnp.zeros(ARMS - 1)
    for step in range(steps):
        control = rng.uniform(0.2, 0.5)
        chances = np.array([control, control, control + 0.1])
        successes = rng.binomial(PATIENTS, chances, size=(TRIALS, ARMS)).astype("float32")
        rejected = rejected + analyse(successes, precision)
        if step % 20 == 0:
            print(step, np.asarray(rejected) / (step + 1))


simulate(int(os.environ.get("STEPS", 2000)))
