import os

import jax
import jax.numpy as jnp
import numpy as np

STAMP, ORDER = 96, 5
FREQUENCY = np.fft.fftfreq(STAMP)
CONSERVE = (1.0, -0.021, 0.011, -0.006)


def si(x):
    """The sine integral."""
    size = jnp.maximum(jnp.abs(x), 1e-6)
    square = size**2
    series, term = size, size
    for n in range(1, 7):
        term = -term * square / ((2 * n) * (2 * n + 1))
        series = series + term / (2 * n + 1)
    f = (square**2 + 7.241163 * square + 2.463936) / (square**2 + 9.068580 * square + 7.157433)
    g = (square**2 + 7.547478 * square + 1.564072) / (square**2 + 12.723684 * square + 15.723606)
    far = 0.5 * jnp.pi - f / size * jnp.cos(size) - g / square * jnp.sin(size)
    return jnp.sign(x) * jnp.where(size < 1.5, series, far)


def raw_uval(u):
    total = 0.0
    for side in (1.0, -1.0):
        v = ORDER * (2.0 * u + side)
        total += side * ((v + 1) * si(jnp.pi * (v + 1)) - (v - 1) * si(jnp.pi * (v - 1)))
    return total / (2.0 * jnp.pi)


def lanczos_kval(u):
    """The Lanczos interpolant in Fourier space, corrected to conserve the flux."""
    value = CONSERVE[0] * raw_uval(u)
    for shift, weight in enumerate(CONSERVE[1:], 1):
        value += weight * (raw_uval(u + shift) + raw_uval(u - shift))
    return value


@jax.jit
def draw(template, shear, noise):
    kx, ky = jnp.meshgrid(FREQUENCY, FREQUENCY)
    u = (1 + shear[0]) * kx + shear[1] * ky
    v = shear[1] * kx + (1 - shear[0]) * ky
    window = jnp.prod(lanczos_kval(jnp.stack([u, v])), axis=0)
    image = jnp.fft.ifft2(jnp.fft.fft2(template) * window).real + noise
    y, x = jnp.mgrid[:STAMP, :STAMP] - STAMP / 2
    weight = image * jnp.exp(-0.5 * (x**2 + y**2) / 64.0)
    return jnp.stack([jnp.sum(weight * (x**2 - y**2)), jnp.sum(weight * 2 * x * y)]) / jnp.sum(weight)


def simulate(stamps):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:STAMP, :STAMP] - STAMP / 2
    shapes = []
    for number in range(stamps):
        radius = rng.uniform(3.0, 6.0)
        template = np.exp(-np.hypot(x, 0.8 * y) / radius).astype(np.float32)
        noise = rng.normal(0, 0.001, (STAMP, STAMP)).astype(np.float32)
        shear = rng.normal(0, 0.1, 2).astype(np.float32)
        shapes.append(np.asarray(draw(template, shear, noise)))
        if number % 250 == 0:
            print(number, "mean shape", np.mean(shapes, axis=0))


simulate(int(os.environ.get("STEPS", 2500)))
