import os

import jax
import jax.numpy as jnp
import numpy as np

COILS, MODES, SEGMENTS, CHUNK = 4, 5, 32, 32
ANGLES = jnp.linspace(0, 2 * jnp.pi, SEGMENTS, endpoint=False)


def surface(poloidal=10, toroidal=16):
    theta, phi = np.meshgrid(np.linspace(0, 2 * np.pi, poloidal, endpoint=False),
                             np.linspace(0, 2 * np.pi, toroidal, endpoint=False))
    theta, phi = theta.ravel(), phi.ravel()
    normal = np.stack([np.cos(theta) * np.cos(phi), np.cos(theta) * np.sin(phi), np.sin(theta)], 1)
    axis = np.stack([np.cos(phi), np.sin(phi), 0 * phi], 1)
    return jnp.asarray(axis + 0.3 * normal, jnp.float32), jnp.asarray(normal, jnp.float32)


POINTS, NORMALS = surface()


def coils(params):
    """Points of each coil and the steps between them, from Fourier coefficients."""
    orders = jnp.arange(1, MODES + 1)[:, None] * ANGLES
    waves = jnp.concatenate([jnp.ones((1, SEGMENTS)), jnp.cos(orders), jnp.sin(orders)])
    points = jnp.einsum("kdm,ms->ksd", params.reshape(COILS, 3, -1), waves)
    return points, jnp.roll(points, -1, axis=1) - points


def residual(params):
    points, steps = coils(params)
    middle = (points + 0.5 * steps).reshape(-1, 3)
    away = POINTS[:, None] - middle
    distance = jnp.sqrt(jnp.sum(away**2, axis=-1) + 1e-4)
    field = jnp.sum(jnp.cross(steps.reshape(-1, 3), away) / distance[..., None] ** 3, axis=1)
    length = jnp.sqrt(jnp.sum(steps**2, axis=(1, 2)) * SEGMENTS)
    return jnp.concatenate([0.1 * jnp.sum(field * NORMALS, axis=1), 0.05 * (length - 4.0)])


@jax.jit
def value_and_gradient(params):
    errors = residual(params)

    def along(direction):
        return jax.jvp(residual, (params,), (direction,))[1]

    rows = jax.lax.map(along, jnp.eye(len(params)), batch_size=CHUNK)
    return 0.5 * jnp.sum(errors**2), rows @ errors


def first_coils(rng):
    params = 0.02 * rng.normal(size=(COILS, 3, 2 * MODES + 1)).astype(np.float32)
    for k, phi in enumerate(np.linspace(0, 2 * np.pi, COILS, endpoint=False) + 0.2):
        params[k, :2, 0] += np.cos(phi), np.sin(phi)
        params[k, :2, 1] += 0.6 * np.cos(phi), 0.6 * np.sin(phi)
        params[k, 2, MODES + 1] += 0.6
    return jnp.asarray(params.ravel())


def optimize(steps, rate=0.002):
    params = first_coils(np.random.default_rng(0))
    momentum = jnp.zeros_like(params)
    for step in range(steps):
        value, gradient = value_and_gradient(params)
        momentum = 0.9 * momentum + gradient
        params = params - rate * momentum
        if step % 20 == 0:
            print(step, float(value))


optimize(int(os.environ.get("STEPS", 120)))
