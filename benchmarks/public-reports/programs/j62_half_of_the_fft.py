import os

import jax
import jax.numpy as jnp
import numpy as np

SIZE, PADDED, BATCH, IMAGES, LATENT = 64, 96, 64, 3000, 4
HALF = PADDED // 2 + 1


class ParticleStack:
    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.images = rng.normal(size=(IMAGES, SIZE, SIZE)).astype(np.float32)
        self.angles = rng.uniform(0, 2 * np.pi, IMAGES).astype(np.float32)
        self.defocus = rng.uniform(0.5, 2.5, IMAGES).astype(np.float32)
        self.latent = rng.normal(size=(IMAGES, LATENT)).astype(np.float32)

    def batches(self, chosen):
        for start in range(0, len(chosen), BATCH):
            yield chosen[start : start + BATCH]


def process_images_half(images):
    border = (PADDED - SIZE) // 2
    images = jnp.pad(images, ((0, 0), (border, border), (border, border)))
    spectra = jnp.fft.fftn(jnp.fft.ifftshift(images, axes=(-2, -1)), axes=(-2, -1))
    return spectra[:, :, :HALF] / PADDED


def frequencies():
    ky = jnp.fft.fftfreq(PADDED)[:, None]
    return jnp.broadcast_to(ky, (PADDED, HALF)), jnp.broadcast_to(jnp.arange(HALF) / PADDED, (PADDED, HALF))


@jax.jit
def accumulate(numerator, denominator, spectra, angles, defocus, weights):
    ky, kx = frequencies()
    ctf = jnp.sin(jnp.pi * 40.0 * defocus[:, None, None] * (kx**2 + ky**2))
    c, s = jnp.cos(angles)[:, None, None], jnp.sin(angles)[:, None, None]
    x, y = jnp.round((c * kx - s * ky) * PADDED).astype(int), jnp.round((s * kx + c * ky) * PADDED).astype(int)
    inside = (kx**2 + ky**2 < 0.06) * weights[:, None, None]
    index = (y % PADDED) * PADDED + x % PADDED
    numerator = numerator.at[index.ravel()].add((inside * ctf * spectra).ravel())
    denominator = denominator.at[index.ravel()].add((inside * ctf**2).ravel())
    return numerator, denominator


def pad_batch(*arrays):
    return [np.pad(np.asarray(a), [(0, BATCH - len(a))] + [(0, 0)] * (a.ndim - 1)) for a in arrays]


def compute_state(stack, center, bandwidth):
    distance = np.linalg.norm(stack.latent - center, axis=1)
    weights = np.maximum(1 - (distance / bandwidth) ** 2, 0.0).astype(np.float32)
    numerator = jnp.zeros(PADDED * PADDED, jnp.complex64)
    denominator = jnp.full(PADDED * PADDED, 1e-2)
    chosen = np.nonzero(weights)[0]
    for index in stack.batches(chosen):
        spectra = process_images_half(stack.images[index])
        kernel = pad_batch(spectra, stack.angles[index], stack.defocus[index], weights[index])
        numerator, denominator = accumulate(numerator, denominator, *kernel)
    volume = jnp.fft.ifft2((numerator / denominator).reshape(PADDED, PADDED)).real
    return len(chosen), volume


stack = ParticleStack()
rng = np.random.default_rng(1)
for state in range(int(os.environ.get("STEPS", 45))):
    used, volume = compute_state(stack, stack.latent[rng.integers(IMAGES)], bandwidth=2.2)
    if state % 10 == 0:
        print(state, used, float(jnp.std(volume)), flush=True)
