import os
from functools import partial

import jax
import jax.numpy as jnp
import optax

SITES, FEATURES, KERNEL, LAYERS, SAMPLES = 64, 16, 5, 3, 64


def init(key):
    layers, width = [], 1
    for layer, key in enumerate(jax.random.split(key, LAYERS)):
        out = FEATURES if layer < LAYERS - 1 else 2
        scale = (KERNEL * width) ** -0.5
        layers.append({"kernel": scale * jax.random.normal(key, (KERNEL, width, out)), "bias": jnp.zeros(out)})
        width = out
    return layers


def causal_conv(layer, x, exclusive):
    left = KERNEL if exclusive else KERNEL - 1
    x = jnp.pad(x, ((0, 0), (left, 0), (0, 0)))[:, : x.shape[1] + KERNEL - 1]
    return jax.lax.conv_general_dilated(x, layer["kernel"], (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")) + layer["bias"]


def log_conditionals(params, spins):
    x = spins[..., None]
    for number, layer in enumerate(params):
        x = causal_conv(layer, x, exclusive=number == 0)
        if number < LAYERS - 1:
            x = jax.nn.selu(x)
    return jax.nn.log_softmax(x)


def log_psi(params, spins):
    chosen = ((spins + 1) / 2).astype(int)[..., None]
    return 0.5 * jnp.take_along_axis(log_conditionals(params, spins), chosen, axis=-1)[..., 0].sum(-1)


@jax.jit
def sample(params, key):
    def add_site(spins, scanned):
        site, key = scanned
        log_p = log_conditionals(params, spins)[:, site]
        return spins.at[:, site].set(2.0 * jax.random.categorical(key, log_p) - 1), None

    spins = jnp.zeros((SAMPLES, SITES))
    return jax.lax.scan(add_site, spins, (jnp.arange(SITES), jax.random.split(key, SITES)))[0]


optimizer = optax.adam(1e-3)


@jax.jit
def update(params, opt_state, spins, couplings, beta):
    free_energy = -jnp.einsum("bi,ij,bj->b", spins, couplings, spins) / 2 + 2 * log_psi(params, spins) / beta
    advantage = free_energy - free_energy.mean()
    grads = jax.grad(lambda w: jnp.mean(advantage * 2 * log_psi(w, spins)))(params)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, free_energy.mean()


def train(iterations):
    key, init_key, coupling_key = jax.random.split(jax.random.PRNGKey(3), 3)
    params = init(init_key)
    couplings = jax.random.normal(coupling_key, (SITES, SITES)) / SITES**0.5
    couplings = jnp.triu(couplings, 1) + jnp.triu(couplings, 1).T
    opt_state = optimizer.init(params)
    for iteration in range(iterations):
        key, sample_key = jax.random.split(key)
        spins = sample(params, sample_key)
        params, opt_state, value = update(params, opt_state, spins, couplings, 1.0)
        if iteration % 40 == 0:
            print(f"iteration {iteration}: free energy {value:.2f}")


train(int(os.environ.get("STEPS", 320)))
