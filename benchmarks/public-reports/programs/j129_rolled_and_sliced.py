import os
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

SHAPE, COURANT, WAVELENGTH, ABSORBER, CHUNK = (64, 48, 48), 0.5, 12.0, 8, 20
PADDING = ((0, 0), (1, 1), (1, 1), (1, 1))


class Arrays(NamedTuple):
    E: jax.Array
    H: jax.Array
    inv_permittivity: jax.Array
    damping: jax.Array
    energy: jax.Array


def curl_E(E):
    E = jnp.pad(E, PADDING)
    dyEz = (jnp.roll(E[2], -1, axis=1) - E[2])[1:-1, 1:-1, 1:-1]
    dzEy = (jnp.roll(E[1], -1, axis=2) - E[1])[1:-1, 1:-1, 1:-1]
    dzEx = (jnp.roll(E[0], -1, axis=2) - E[0])[1:-1, 1:-1, 1:-1]
    dxEz = (jnp.roll(E[2], -1, axis=0) - E[2])[1:-1, 1:-1, 1:-1]
    dxEy = (jnp.roll(E[1], -1, axis=0) - E[1])[1:-1, 1:-1, 1:-1]
    dyEx = (jnp.roll(E[0], -1, axis=1) - E[0])[1:-1, 1:-1, 1:-1]
    return jnp.stack((dyEz - dzEy, dzEx - dxEz, dxEy - dyEx), axis=0)


def curl_H(H):
    H = jnp.pad(H, PADDING)
    dyHz = (H[2] - jnp.roll(H[2], 1, axis=1))[1:-1, 1:-1, 1:-1]
    dzHy = (H[1] - jnp.roll(H[1], 1, axis=2))[1:-1, 1:-1, 1:-1]
    dzHx = (H[0] - jnp.roll(H[0], 1, axis=2))[1:-1, 1:-1, 1:-1]
    dxHz = (H[2] - jnp.roll(H[2], 1, axis=0))[1:-1, 1:-1, 1:-1]
    dxHy = (H[1] - jnp.roll(H[1], 1, axis=0))[1:-1, 1:-1, 1:-1]
    dyHx = (H[0] - jnp.roll(H[0], 1, axis=1))[1:-1, 1:-1, 1:-1]
    return jnp.stack((dyHz - dzHy, dzHx - dxHz, dxHy - dyHx), axis=0)


def source(time_step):
    phase = 2 * jnp.pi * COURANT * time_step / WAVELENGTH
    return jnp.sin(phase) * (1.0 - jnp.exp(-((time_step / 40.0) ** 2)))


def forward(time_step, arrays):
    E = arrays.damping * (arrays.E + COURANT * arrays.inv_permittivity * curl_H(arrays.H))
    E = E.at[2, ABSORBER + 2, SHAPE[1] // 2, SHAPE[2] // 2].add(source(time_step))
    H = arrays.damping * (arrays.H - COURANT * curl_E(E))
    detector = E[:, -ABSORBER - 2], H[:, -ABSORBER - 2]
    poynting = jnp.cross(*detector, axisa=0, axisb=0)[..., 0].sum()
    return arrays._replace(E=E, H=H, energy=arrays.energy + poynting)


@partial(jax.jit, donate_argnums=0)
def run_chunk(arrays, start):
    return jax.lax.fori_loop(start, start + CHUNK, forward, arrays)


def make_device(rng):
    permittivity = np.ones(SHAPE, "float32")
    blocks = rng.integers(0, 2, (4, 8, 8)).repeat(4, 0).repeat(4, 1).repeat(4, 2)
    permittivity[24:40, 8:40, 8:40] += 1.25 * blocks
    depths = [np.maximum(ABSORBER - np.minimum(np.arange(n), n - 1 - np.arange(n)), 0) / ABSORBER for n in SHAPE]
    depth = np.maximum(np.maximum(depths[0][:, None, None], depths[1][:, None]), depths[2])
    damping, fields = np.exp(-0.4 * depth**3).astype("float32"), jnp.zeros((3, *SHAPE))
    return Arrays(fields, fields + 0, jnp.asarray(1 / permittivity), jnp.asarray(damping), jnp.zeros(()))


def simulate(chunks):
    arrays = make_device(np.random.default_rng(0))
    for chunk in range(chunks):
        arrays = run_chunk(arrays, chunk * CHUNK)
        if chunk % 10 == 0:
            print(f"chunk {chunk}, time step {(chunk + 1) * CHUNK}: energy {float(arrays.energy):.4f}", flush=True)


simulate(int(os.environ.get("STEPS", 700)))
