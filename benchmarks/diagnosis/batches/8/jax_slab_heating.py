"""Learns how a heater warms a concrete slab: a small network gives the source term of an implicit heat solver."""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

SIDE = 28
CELLS = SIDE * SIDE
DT = 0.4
SUBSTEPS = 8
BATCH = 48


def conductivity(seed=0):
    rng = np.random.default_rng(seed)
    field = np.kron(rng.uniform(0.3, 2.0, (SIDE // 4, SIDE // 4)), np.ones((4, 4)))
    return field.astype(np.float32)


def propagator(k):
    """(I - dt L)^-1 for the five-point Laplacian L with harmonic means of k on the faces."""
    index = jnp.arange(CELLS).reshape(SIDE, SIDE)

    def faces(a, b, ka, kb):
        weight = (2 * ka * kb / (ka + kb)).ravel()
        a, b = a.ravel(), b.ravel()
        return jnp.concatenate([a, b, a, b]), jnp.concatenate([a, b, b, a]), jnp.concatenate([weight, weight, -weight, -weight])

    right = faces(index[:, :-1], index[:, 1:], k[:, :-1], k[:, 1:])
    below = faces(index[:-1], index[1:], k[:-1], k[1:])
    matrix = jnp.eye(CELLS)
    for rows, columns, values in (right, below):
        matrix = matrix.at[rows, columns].add(DT * values)
    return jnp.linalg.inv(matrix)


def init(key, width=384):
    k1, k2, k3 = jax.random.split(key, 3)
    return {
        "in": jax.random.normal(k1, (CELLS + 3, width)) / jnp.sqrt(CELLS),
        "mid": jax.random.normal(k2, (width, width)) / jnp.sqrt(width),
        "out": jax.random.normal(k3, (width, CELLS)) * 0.01,
        "b1": jnp.zeros(width),
        "b2": jnp.zeros(width),
    }


def source(params, temperature, control):
    x = jnp.concatenate([temperature, control], axis=-1)
    x = jax.nn.gelu(x @ params["in"] + params["b1"])
    x = jax.nn.gelu(x @ params["mid"] + params["b2"])
    return x @ params["out"]


def rollout(params, inverse, start, controls):
    def substep(temperature, control):
        temperature = (temperature + DT * source(params, temperature, control)) @ inverse.T
        return temperature, temperature

    return jax.lax.scan(substep, start, controls)[1]


def heater_truth(inverse, rng, count=384):
    yy, xx = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    controls = rng.uniform(0, 1, (count, SUBSTEPS, 3)).astype(np.float32)
    bumps = np.exp(-(((xx - controls[..., 0, None, None]) ** 2 + (yy - controls[..., 1, None, None]) ** 2) / 0.02))
    power = (bumps * controls[..., 2, None, None]).reshape(count, SUBSTEPS, CELLS).astype(np.float32)
    start = rng.normal(0, 0.1, (count, CELLS)).astype(np.float32)
    state, path = start, []
    for i in range(SUBSTEPS):
        state = (state + DT * power[:, i]) @ inverse.T
        path.append(state)
    return start, controls, np.stack(path, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    k = jnp.asarray(conductivity())
    inverse = jax.jit(propagator)(k)
    rng = np.random.default_rng(4)
    start, controls, path = heater_truth(np.asarray(inverse), rng)
    params = init(jax.random.key(0))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    opt_state = optimizer.init(params)

    @jax.jit
    def train_step(params, opt_state, medium, start, controls, path):
        operator = propagator(medium) if args.fault else medium

        def loss_fn(params):
            predicted = rollout(params, operator, start, controls.swapaxes(0, 1))
            return jnp.mean(jnp.square(predicted - path.swapaxes(0, 1)))

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state, loss

    medium = k if args.fault else inverse
    losses = []
    for step in range(18):
        if step == 6:
            jax.block_until_ready(params)
            jax.profiler.start_trace(args.logdir)
        rows = rng.integers(0, len(start), BATCH)
        params, opt_state, loss = train_step(params, opt_state, medium, start[rows], controls[rows], path[rows])
        losses.append(loss)
    jax.block_until_ready(params)
    jax.profiler.stop_trace()
    print(f"{float(losses[0]):.4f} -> {float(losses[-1]):.4f}")


if __name__ == "__main__":
    main()
