import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

SIZE, DX, WAVELENGTH, N_MEDIUM, PLANES = 256, 2.0, 0.532, 1.0, 5


def compute_exact_propagator(shape, z, dx=DX, wavelength=WAVELENGTH, n=N_MEDIUM):
    """Transfer function of free space over a distance z, cut where it would alias."""
    f = jnp.fft.fftfreq(shape[0], dx)
    fy, fx = jnp.meshgrid(f, f, indexing="ij")
    root = jnp.sqrt((1 - (wavelength / n) ** 2 * (fx**2 + fy**2)).astype(jnp.complex64))
    kernel = jnp.exp(2j * jnp.pi * (z * n / wavelength) * root)
    limit = 1 / (wavelength * jnp.sqrt((2 * z / (shape[0] * dx)) ** 2 + 1))
    return jnp.where((jnp.abs(fx) < limit) & (jnp.abs(fy) < limit), kernel, 0)


def kernel_propagate(field, kernel):
    pad = SIZE // 2
    spectrum = jnp.fft.fft2(jnp.pad(field, pad))
    return jnp.fft.ifft2(spectrum * kernel)[..., pad:-pad, pad:-pad]


def exact_propagate(field, z):
    return kernel_propagate(field, compute_exact_propagator((2 * SIZE, 2 * SIZE), z))


class Holography:
    """A phase mask in a Gaussian beam and the planes behind it."""

    def __init__(self, distances):
        y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
        self.beam = jnp.asarray(np.exp(-(x**2 + y**2) / (0.35 * SIZE) ** 2), jnp.complex64)
        self.distances = jnp.asarray(distances)

    def __call__(self, phase, distances):
        field = self.beam * jnp.exp(1j * phase)
        planes = jax.vmap(exact_propagate, in_axes=(None, 0))(field, distances)
        return jnp.abs(planes) ** 2


def make_targets(rng):
    targets = np.zeros((PLANES, SIZE, SIZE), "float32")
    for target in targets:
        for _ in range(6):
            y, x = rng.integers(40, SIZE - 60, 2)
            target[y : y + rng.integers(5, 20), x : x + rng.integers(5, 20)] = 1.0
    return jnp.asarray(targets)


system = Holography(np.linspace(4000.0, 8000.0, PLANES, dtype="float32"))
optimizer = optax.adam(0.05)


@jax.jit
def step(phase, opt_state, targets, distances):
    def loss_fn(phase):
        images = system(phase, distances)
        scale = (images * targets).sum((1, 2), keepdims=True) / (images**2).sum((1, 2), keepdims=True)
        return jnp.mean((scale * images - targets) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(phase)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(phase, updates), opt_state, loss


def optimize(iterations):
    rng = np.random.default_rng(0)
    targets, phase = make_targets(rng), jnp.asarray(rng.uniform(0, 2 * np.pi, (SIZE, SIZE)), jnp.float32)
    opt_state = optimizer.init(phase)
    for i in range(iterations):
        phase, opt_state, loss = step(phase, opt_state, targets, system.distances)
        if i % 10 == 0:
            print(i, f"loss {float(loss):.6f}", flush=True)


optimize(int(os.environ.get("STEPS", 280)))
