import itertools
import os

import jax
import jax.numpy as jnp
from jax import lax, random
import numpy as np

HORIZON, TRIALS, DT = 100, 10, 0.1
GOAL = jnp.array([9.0, 9.0])
rng = np.random.default_rng(0)
CENTERS = jnp.asarray(rng.uniform(2.0, 8.0, (5, 2)), jnp.float32)
RADII = jnp.asarray(rng.uniform(0.4, 0.9, 5), jnp.float32)


def proportional_controller(gain):
    return lambda x: gain * (GOAL - x)


def circular_barriers(alpha):
    def barriers(x):
        away = x - CENTERS
        h = jnp.sum(away**2, axis=1) - RADII**2
        return -2.0 * away, alpha * h

    return barriers


def cbf_qp_controller(nominal, barriers, control_limit, iterations=60):
    def controller(x):
        u_nominal = nominal(x)
        rows, bounds = barriers(x)
        G = jnp.concatenate([rows, jnp.eye(2), -jnp.eye(2)])
        h = jnp.concatenate([bounds, jnp.full(4, control_limit)])
        Q, c = G @ G.T, G @ u_nominal - h
        rate = 1.0 / jnp.trace(Q)
        duals = lax.fori_loop(0, iterations, lambda _, y: jnp.maximum(y + rate * (c - Q @ y), 0.0), jnp.zeros(len(h)))
        return jnp.clip(u_nominal - G.T @ duals, -control_limit, control_limit)

    return controller


def make_setup(alpha, control_limit):
    controller = cbf_qp_controller(proportional_controller(2.0), circular_barriers(alpha), control_limit)
    return {"controller": controller, "sampler": lambda key: random.uniform(key, (2,), maxval=1.0), "noise": 0.05}


def run_monte_carlo(setup, trials, seed):
    keys = random.split(random.PRNGKey(seed), trials)
    starts = jax.vmap(setup["sampler"])(keys)

    def single_trajectory(key, x0):
        def step(carry, _):
            key, x = carry
            key, noise_key = random.split(key)
            u = setup["controller"](x)
            x = x + DT * (u + setup["noise"] * random.normal(noise_key, (2,)))
            return (key, x), (x, u)

        return lax.scan(step, (key, x0), length=HORIZON)[1]

    xs, us = jax.jit(jax.vmap(single_trajectory))(keys, starts)
    clearance = jnp.linalg.norm(xs[:, :, None] - CENTERS, axis=-1) - RADII
    return {"safe": float((clearance.min((1, 2)) > 0).mean()), "distance": float(jnp.linalg.norm(xs[:, -1] - GOAL, axis=-1).mean())}


def sweep(runs):
    table = []
    grid = itertools.product(np.linspace(0.2, 3.0, 15), np.linspace(1.0, 5.0, 9), range(3))
    for number, (alpha, limit, seed) in enumerate(itertools.islice(grid, runs)):
        result = run_monte_carlo(make_setup(float(alpha), float(limit)), TRIALS, seed)
        table.append((alpha, limit, seed, result["safe"], result["distance"]))
        if number % 5 == 0:
            print(f"alpha {alpha:.2f} limit {limit:.1f} seed {seed}: safe {result['safe']:.2f} distance {result['distance']:.2f}", flush=True)
    return table


sweep(int(os.environ.get("STEPS", 30)))
