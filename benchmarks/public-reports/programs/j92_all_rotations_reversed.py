import os
from functools import partial

import jax
import jax.numpy as jnp

N_ELECTRONS, WALKERS, HIDDEN, MOVES = 6, 256, 32, 5


def init_params(key, layers=3):
    keys, widths = jax.random.split(key, layers + 1), [3] + [HIDDEN] * (layers - 1)
    weights = [jax.random.normal(k, (2 * width, HIDDEN)) / jnp.sqrt(2 * width) for k, width in zip(keys, widths)]
    return [(w, jnp.zeros(HIDDEN)) for w in weights], 0.3 * jax.random.normal(keys[-1], (HIDDEN, 2))


def log_psi(params, x):
    """Log of the amplitude and phase of the state of electrons at angles x on the Haldane sphere."""
    theta, phi = x[:, 0], x[:, 1]
    r = jnp.stack([jnp.sin(theta) * jnp.cos(phi), jnp.sin(theta) * jnp.sin(phi), jnp.cos(theta)], -1)
    layers, out = params
    h = r
    for w, b in layers:
        h = jnp.tanh(jnp.concatenate([h, jnp.broadcast_to(h.mean(0), h.shape)], -1) @ w + b)
    i, j = jnp.triu_indices(N_ELECTRONS, 1)
    jastrow = 1.5 * jnp.sum(jnp.log(jnp.sum((r[i] - r[j]) ** 2, -1)))
    return h.sum(0) @ out + jnp.array([1.0, 0.0]) * jastrow


def rotation_fields(x):
    theta, phi = x[:, 0], x[:, 1]
    zero, cot = jnp.zeros_like(theta), 1 / jnp.tan(theta)
    about_x = jnp.stack([-jnp.sin(phi), -cot * jnp.cos(phi)], -1)
    about_y = jnp.stack([jnp.cos(phi), -cot * jnp.sin(phi)], -1)
    return jnp.stack([about_x, about_y, jnp.stack([zero, zero + 1.0], -1)])


def angular_momentum_square(params, x):
    def rotate(x):
        jacobian = jax.jacrev(partial(log_psi, params))(x)
        return jnp.einsum("anc,knc->ak", rotation_fields(x), jacobian)

    first = rotate(x)
    second = jnp.einsum("anc,bknc->abk", rotation_fields(x), jax.jacrev(rotate)(x))
    second = jnp.einsum("aak->ak", second)
    first, second = first[:, 0] + 1j * first[:, 1], second[:, 0] + 1j * second[:, 1]
    return -jnp.sum(second + first**2)


@jax.jit
def estimate(params, walkers):
    return jax.vmap(angular_momentum_square, in_axes=(None, 0))(params, walkers)


@jax.jit
def sample(params, walkers, key):
    def density(x):
        return 2 * jax.vmap(log_psi, in_axes=(None, 0))(params, x)[:, 0] + jnp.log(jnp.sin(x[..., 0])).sum(-1)

    def move(walkers, key):
        move_key, accept_key = jax.random.split(key)
        proposal = walkers + 0.1 * jax.random.normal(move_key, walkers.shape)
        proposal = proposal.at[..., 0].set(jnp.clip(proposal[..., 0], 0.05, jnp.pi - 0.05))
        accept = jnp.log(jax.random.uniform(accept_key, (WALKERS,))) < density(proposal) - density(walkers)
        return jnp.where(accept[:, None, None], proposal, walkers), accept.mean()

    walkers, accepted = jax.lax.scan(move, walkers, jax.random.split(key, MOVES))
    return walkers, accepted.mean()


params_key, walker_key, key = jax.random.split(jax.random.key(0), 3)
params, total = init_params(params_key), 0.0
walkers = jax.random.uniform(walker_key, (WALKERS, N_ELECTRONS, 2), minval=0.4, maxval=jnp.pi - 0.4)
for step in range(int(os.environ.get("STEPS", 300))):
    walkers, accepted = sample(params, walkers, jax.random.fold_in(key, step))
    total += estimate(params, walkers).mean()
    if (step + 1) % 50 == 0:
        print(step + 1, f"L^2 {complex(total / (step + 1)):.3f} acceptance {float(accepted):.2f}", flush=True)
