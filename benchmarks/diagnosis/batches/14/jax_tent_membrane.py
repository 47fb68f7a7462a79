"""Stiffness of awning fabric from its sag: a net reads the fabric's picture, a membrane solver gives the sag."""
import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training.train_state import TrainState
from jax.scipy.sparse.linalg import cg

SIDE = 64
BATCH = 16
PIECES = 192
GROUND = 0.02  # the foam bed under the sheet
TOLERANCE = 1e-5


def fluxes(u, tension):
    """-div(tension grad u) + ground u on a sheet that is clamped along its border."""
    u = jnp.pad(u, 1)
    t = jnp.pad(tension, 1, mode="edge")
    centre, tc = u[1:-1, 1:-1], t[1:-1, 1:-1]
    total = GROUND * centre
    for rows, cols in ((slice(2, None), slice(1, -1)), (slice(0, -2), slice(1, -1)),
                       (slice(1, -1), slice(2, None)), (slice(1, -1), slice(0, -2))):
        total += 0.5 * (tc + t[rows, cols]) * (centre - u[rows, cols])
    return total


def sag(tension, load, tol):
    solution, _ = cg(lambda u: fluxes(u, tension), load, tol=tol, maxiter=1000)
    return solution


class Eye(nn.Module):
    @nn.compact
    def __call__(self, picture):
        x = nn.gelu(nn.Conv(16, (4, 4), strides=2)(picture[..., None]))
        for _ in range(2):
            y = nn.gelu(nn.Conv(16, (3, 3))(nn.LayerNorm()(x)))
            x = x + nn.Conv(16, (3, 3))(y)
        x = jax.image.resize(nn.Conv(4, (3, 3))(x), (*picture.shape, 4), "bilinear")
        return 0.2 + nn.softplus(nn.Conv(1, (3, 3))(x))[..., 0]


def fabric(rng):
    """Patches of different weave, seen as brightness and felt as tension."""
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    picture = np.full((PIECES, SIDE, SIDE), 0.5)
    for i in range(PIECES):
        for _ in range(rng.integers(2, 6)):
            cy, cx, r = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9), rng.uniform(0.08, 0.3)
            picture[i] += rng.uniform(-0.3, 0.4) * np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / r**2)
    tension = 0.4 + 1.5 * np.clip(picture, 0.1, None) ** 2
    load = np.zeros((PIECES, SIDE, SIDE))
    for i in range(PIECES):
        for _ in range(4):
            cy, cx = rng.integers(6, SIDE - 6, 2)
            load[i, cy - 2 : cy + 3, cx - 2 : cx + 3] += rng.uniform(0.5, 1.5)
    picture += rng.normal(scale=0.02, size=picture.shape)
    return [a.astype(np.float32) for a in (picture, tension, load)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    tol = 1e-12 if args.fault else TOLERANCE

    rng = np.random.default_rng(8)
    picture, tension, load = fabric(rng)
    solve_all = jax.jit(jax.vmap(lambda t, f: sag(t, f, TOLERANCE)))
    measured = np.concatenate([solve_all(tension[i : i + 32], load[i : i + 32]) for i in range(0, PIECES, 32)])
    measured += rng.normal(scale=0.01, size=measured.shape).astype(np.float32)

    eye = Eye()
    params = eye.init(jax.random.key(8), picture[:1])
    state = TrainState.create(apply_fn=eye.apply, params=params, tx=optax.adam(1e-3))

    @jax.jit
    def train_step(state, picture, load, measured):
        def loss_fn(params):
            stiff = state.apply_fn(params, picture)
            sags = jax.vmap(lambda t, f: sag(t, f, tol))(stiff, load)
            rough = jnp.mean(jnp.abs(jnp.diff(stiff, axis=1))) + jnp.mean(jnp.abs(jnp.diff(stiff, axis=2)))
            return jnp.mean((sags - measured) ** 2) + 1e-3 * rough

        loss, grads = jax.value_and_grad(loss_fn)(state.params)
        return state.apply_gradients(grads=grads), loss

    def epochs():
        while True:
            order = rng.permutation(PIECES)
            for i in range(0, PIECES, BATCH):
                rows = order[i : i + BATCH]
                yield picture[rows], load[rows], measured[rows]

    batches = epochs()
    for _ in range(8):
        state, loss = train_step(state, *next(batches))
    loss.block_until_ready()
    with jax.profiler.trace(args.logdir):
        for _ in range(12):
            state, loss = train_step(state, *next(batches))
        loss.block_until_ready()
    print(f"loss {float(loss):.5f}")


if __name__ == "__main__":
    main()
