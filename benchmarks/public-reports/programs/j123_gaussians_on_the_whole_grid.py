import os

import jax
import jax.numpy as jnp
import numpy as np

ATOMS, GAUSSIANS, SIZE, VOXEL, MODES = 150, 5, 32, 1.5, 4


def make_coordinate_grid(shape, voxel_size):
    axes = [(jnp.arange(n) - n // 2) * voxel_size for n in shape]
    return jnp.stack(jnp.meshgrid(*axes, indexing="ij"), axis=-1)


def evaluate_atom_potential(coordinates, position, a, b):
    """The potential of one atom, a sum of gaussians, on a 3D grid."""
    b_inverse = 4.0 * jnp.pi / b
    square_distances = jnp.sum((coordinates - position) ** 2, axis=-1)
    gaussians = jnp.exp(-jnp.pi * b_inverse * square_distances[..., None])
    return 4.0 * jnp.pi * jnp.sum(a * b_inverse**1.5 * gaussians, axis=-1)


@jax.jit
def build_voxels_from_atoms(positions, a, b):
    coordinates = make_coordinate_grid((SIZE, SIZE, SIZE), VOXEL)

    def add_atom(index, potential):
        return potential + evaluate_atom_potential(coordinates, positions[index], a[index], b[index])

    return jax.lax.fori_loop(0, len(positions), add_atom, jnp.zeros((SIZE, SIZE, SIZE)))


@jax.jit
def deform(positions, modes, amplitudes, angle):
    moved = positions + jnp.einsum("m,mad->ad", amplitudes, modes)
    c, s = jnp.cos(angle), jnp.sin(angle)
    return moved @ jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@jax.jit
def make_image(voxels, defocus, key):
    frequencies = jnp.fft.fftfreq(SIZE, VOXEL)
    square = frequencies[:, None] ** 2 + frequencies[None, : SIZE // 2 + 1] ** 2
    transfer = -jnp.sin(jnp.pi * 0.02 * defocus * square) * jnp.exp(-20.0 * square)
    projection = voxels.sum(0) * VOXEL
    image = jnp.fft.irfft2(jnp.fft.rfft2(projection) * transfer, s=(SIZE, SIZE))
    return image + image.std() * jax.random.normal(key, image.shape)


@jax.jit
def correlate(image, reference):
    image, reference = image - image.mean(), reference - reference.mean()
    return (image * reference).sum() / jnp.sqrt((image**2).sum() * (reference**2).sum())


def simulate_dataset(number_of_images):
    rng = np.random.default_rng(0)
    positions = jnp.asarray(rng.normal(0, 7.0, (ATOMS, 3)), jnp.float32)
    modes = jnp.asarray(rng.normal(0, 1.0, (MODES, ATOMS, 3)), jnp.float32)
    a = jnp.asarray(rng.uniform(0.1, 1.5, (ATOMS, GAUSSIANS)), jnp.float32)
    b = jnp.asarray(rng.uniform(2.0, 60.0, (ATOMS, GAUSSIANS)), jnp.float32)
    key, average, scores = jax.random.key(0), jnp.zeros((SIZE, SIZE)), []
    for number in range(number_of_images):
        amplitudes = jnp.asarray(rng.normal(0, 0.5, MODES), jnp.float32)
        angle, defocus = rng.uniform(0, 2 * np.pi), rng.uniform(8e3, 2e4)
        voxels = build_voxels_from_atoms(deform(positions, modes, amplitudes, angle), a, b)
        image = make_image(voxels, defocus, jax.random.fold_in(key, number))
        average = average + (image - average) / (number + 1)
        scores.append(correlate(image, average))
        if number % 10 == 0:
            print(f"image {number}, correlation {float(np.mean(scores[-10:])):.3f}", flush=True)


simulate_dataset(int(os.environ.get("STEPS", 90)))
