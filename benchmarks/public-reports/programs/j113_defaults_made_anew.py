import os
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

DT, NUM_STEPS = 0.01, 4000
GOAL, OBSTACLE, RADIUS = jnp.array([4.0, 4.0]), jnp.array([2.0, 1.8]), 0.8


def unicycle(x):
    f = jnp.zeros(3)
    g = jnp.array([[jnp.cos(x[2]), 0.0], [jnp.sin(x[2]), 0.0], [0.0, 1.0]])
    return f, g


def barrier(x):
    ahead = x[:2] + 0.2 * jnp.array([jnp.cos(x[2]), jnp.sin(x[2])])
    return jnp.sum((ahead - OBSTACLE) ** 2) - RADIUS**2


def vanilla_cbf_controller(t, x):
    f, g = unicycle(x)
    heading = jnp.arctan2(GOAL[1] - x[1], GOAL[0] - x[0]) - x[2]
    nominal = jnp.array([0.5 * jnp.tanh(jnp.linalg.norm(GOAL - x[:2])), 2.0 * jnp.sin(heading)])
    grad = jax.grad(barrier)(x)
    a, b = grad @ g, -(grad @ f) - 1.5 * barrier(x)
    missing = jnp.maximum(0.0, b - a @ nominal)
    return nominal + a * missing / (a @ a + 1e-6)


@partial(jax.jit, static_argnames=("num_steps", "dynamics", "controller", "sensor", "estimator", "perturbation"))
def simulator_jit(x0, dt, key, num_steps, dynamics, controller, sensor, estimator, perturbation):
    def step(carry, number):
        x, estimate, key = carry
        key, for_sensor, for_noise = jax.random.split(key, 3)
        t = number * dt
        measured = sensor(t, x, for_sensor)
        estimate = estimator(t, measured, estimate)
        u = controller(t, estimate)
        f, g = dynamics(x)
        x = x + dt * (f + g @ u + perturbation(x, u, f, g)(for_noise))
        return (x, estimate, key), (x, u, barrier(x))

    return jax.lax.scan(step, (x0, x0, key), jnp.arange(num_steps))


def execute(x0, dt, num_steps, dynamics, controller, key, sensor=None, estimator=None, perturbation=None):
    sensor = sensor if sensor else (lambda t, x, key: x)
    estimator = estimator if estimator else (lambda t, measured, estimate: measured)
    perturbation = perturbation if perturbation else (lambda x, u, f, g: (lambda key: jnp.zeros(x.shape)))
    return simulator_jit(x0, dt, key, num_steps, dynamics, controller, sensor, estimator, perturbation)


def monte_carlo(runs):
    rng = np.random.default_rng(0)
    safe, reached = 0, 0
    for run in range(runs):
        x0 = jnp.asarray(rng.normal([0.0, 0.0, 0.8], [0.3, 0.3, 0.2]).astype("float32"))
        (x, _, _), (_, _, values) = execute(
            x0, DT, NUM_STEPS, unicycle, vanilla_cbf_controller, jax.random.PRNGKey(run)
        )
        safe += bool(jnp.min(values) > -0.05)
        reached += bool(jnp.linalg.norm(x[:2] - GOAL) < 0.3)
        if run % 5 == 0:
            print(f"run {run}: safe {safe}, reached {reached}", flush=True)


monte_carlo(int(os.environ.get("STEPS", 60)))
