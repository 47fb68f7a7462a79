import os

import jax
import jax.numpy as jnp
import numpy as np

BODIES = 1024


def fast_forces(state):
    return -state + 0.1 * jnp.sin(3 * state)


def contact_forces(state):
    """Solves for the contact: 150 rounds of a relaxation in 32 unknowns."""
    matrix = jnp.eye(32) + 0.1 * jnp.outer(state, jnp.cos(state))

    def relax(_, x):
        return x - 0.1 * (matrix @ x - state)

    return jax.lax.fori_loop(0, 150, relax, jnp.zeros(32))


def forces(state):
    touching = jnp.max(jnp.abs(state)) > 6.0
    return jax.lax.cond(touching, contact_forces, fast_forces, state)


@jax.jit
def simulate(states):
    return states + 0.01 * jax.vmap(forces)(states)


def run(steps):
    rng = np.random.default_rng(0)
    states = jnp.asarray(rng.normal(size=(BODIES, 32)), jnp.float32)
    for step in range(steps):
        states = simulate(states)
        if step % 50 == 0:
            print(step, float(jnp.abs(states).max()))


run(int(os.environ.get("STEPS", 2000)))
