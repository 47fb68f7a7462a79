import os

import jax
import jax.numpy as jnp
import numpy as np

SOURCES, ANTENNAS, CHANNELS, ITERATIONS = 10, 12, 8, 6
LIGHTSPEED = 299792458.0
FREQUENCY = jnp.linspace(0.856e9, 1.712e9, CHANNELS)


def phase_delay(lm, uvw, frequency):
    l, m = lm[:, 0, None, None], lm[:, 1, None, None]
    n = jnp.sqrt(1.0 - l**2 - m**2) - 1.0
    u, v, w = (uvw[None, :, i, None] for i in range(3))
    return 2 * jnp.pi * (u * l + v * m + w * n) * frequency / LIGHTSPEED


def visibilities(params, uvw):
    spectrum = params["flux"][:, None, None] * (FREQUENCY / 1.284e9) ** -0.7
    phase = phase_delay(params["lm"], uvw, FREQUENCY)
    return jnp.stack([jnp.sum(spectrum * jnp.cos(phase), axis=0), jnp.sum(spectrum * jnp.sin(phase), axis=0)])


def residuals(params, uvw, observed):
    return (visibilities(params, uvw) - observed).ravel()


jacobian = jax.jit(jax.jacrev(residuals))
residual = jax.jit(residuals)


@jax.jit
def solve(jac, res, damping):
    J = jnp.concatenate([block.reshape(len(res), -1) for block in jax.tree.leaves(jac)], axis=1)
    normal = J.T @ J
    return jnp.linalg.solve(normal + damping * jnp.diag(jnp.diag(normal)), -J.T @ res)


def shifted(params, step):
    flux, lm = step[:SOURCES], step[SOURCES:].reshape(SOURCES, 2)
    return {"flux": params["flux"] + flux, "lm": params["lm"] + lm}


def levenberg_marquardt(params, uvw, observed):
    damping = 1e-2
    res = residual(params, uvw, observed)
    for _ in range(ITERATIONS):
        jac = jacobian(params, uvw, observed)
        trial = shifted(params, solve(jac, res, damping))
        trial_res = residual(trial, uvw, observed)
        if float(trial_res @ trial_res) < float(res @ res):
            params, res, damping = trial, trial_res, damping / 5
        else:
            damping *= 5
    return params, float(res @ res)


def baselines(positions, hour_angle):
    rotation = np.array([[np.cos(hour_angle), -np.sin(hour_angle), 0], [np.sin(hour_angle), np.cos(hour_angle), 0], [0, 0, 1]])
    first, second = np.triu_indices(ANTENNAS, 1)
    rotated = positions @ rotation.T
    return jnp.asarray(rotated[first] - rotated[second], jnp.float32)


def main(snapshots):
    rng = np.random.default_rng(0)
    positions = rng.normal(0, 60.0, (ANTENNAS, 3)) * [1, 1, 0.05]
    sky = {"flux": jnp.asarray(rng.uniform(0.5, 2.0, SOURCES), jnp.float32), "lm": jnp.asarray(rng.uniform(-0.02, 0.02, (SOURCES, 2)), jnp.float32)}
    for number in range(snapshots):
        uvw = baselines(positions, 0.002 * number)
        observed = visibilities(sky, uvw) + 0.05 * rng.normal(size=(2, len(uvw), CHANNELS)).astype(np.float32)
        start = {"flux": jnp.ones(SOURCES), "lm": sky["lm"] + 2e-4 * rng.normal(size=(SOURCES, 2)).astype(np.float32)}
        fit, chi2 = levenberg_marquardt(start, uvw, observed)
        if number % 5 == 0:
            print(f"snapshot {number}: chi2 {chi2:.2f} offset {float(jnp.abs(fit['lm'] - sky['lm']).max()):.2e}", flush=True)


main(int(os.environ.get("STEPS", 20)))
