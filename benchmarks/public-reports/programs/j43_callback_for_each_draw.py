import os
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

SITES, HIDDEN, CHAINS, SAMPLES = 12, 24, 16, 1008
STATES = 2**SITES


def numbers_to_states(numbers):
    bits = (np.asarray(numbers)[:, None] >> np.arange(SITES)) & 1
    return (2 * bits - 1).astype(np.float32)


ALL_STATES = jnp.asarray(numbers_to_states(np.arange(STATES)))


def log_psi(params, spins):
    return spins @ params["visible"] + jnp.log(jnp.cosh(spins @ params["weights"] + params["hidden"])).sum(-1)


def local_energy(params, spins, field=1.0):
    ising = -jnp.sum(spins * jnp.roll(spins, 1, axis=-1), axis=-1)
    flips = jnp.where(jnp.eye(SITES, dtype=bool), -1.0, 1.0)
    flipped = log_psi(params, spins[:, None, :] * flips)
    return ising - field * jnp.exp(flipped - log_psi(params, spins)[:, None]).sum(-1)


@partial(jax.jit, static_argnames="length")
def sample(params, key, length):
    log_pdf = 2 * log_psi(params, ALL_STATES)
    pdf = jnp.cumsum(jax.nn.softmax(log_pdf))

    def sample_next(key, _):
        key, draw_key = jax.random.split(key)
        numbers = jnp.searchsorted(pdf, pdf[-1] * jax.random.uniform(draw_key, (CHAINS,)))
        shape = jax.ShapeDtypeStruct((CHAINS, SITES), jnp.float32)
        return key, jax.pure_callback(numbers_to_states, shape, numbers)

    return jax.lax.scan(sample_next, key, length=length)[1].reshape(-1, SITES)


@jax.jit
def expect_and_update(params, spins):
    energies = local_energy(params, spins)
    centred = energies - energies.mean()
    grads = jax.grad(lambda w: 2 * jnp.mean(centred * log_psi(w, spins)))(params)
    return jax.tree.map(lambda w, g: w - 0.02 * g, params, grads), energies.mean()


def optimise(iterations):
    rng = np.random.default_rng(0)
    params = {
        "visible": jnp.zeros(SITES),
        "hidden": jnp.asarray(0.05 * rng.normal(size=HIDDEN), jnp.float32),
        "weights": jnp.asarray(0.05 * rng.normal(size=(SITES, HIDDEN)), jnp.float32),
    }
    key = jax.random.PRNGKey(1)
    for iteration in range(iterations):
        key, sample_key = jax.random.split(key)
        spins = sample(params, sample_key, SAMPLES // CHAINS)
        params, energy = expect_and_update(params, spins)
        if iteration % 100 == 0:
            print(f"iteration {iteration}: energy {energy:.3f}")
    return jax.block_until_ready(params)


optimise(int(os.environ.get("STEPS", 800)))
