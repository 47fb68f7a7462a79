import os
import time

import keras
import numpy as np
import tensorflow as tf

ELEMENTS, ATOMS, BATCH, MOLECULES = (1, 6, 7, 8), 16, 32, 512
RADIAL = tf.linspace(0.8, 5.0, 8)
ANGULAR = tf.linspace(0.8, 3.2, 3)
THETAS = tf.linspace(0.0, np.float32(np.pi), 4)
CUTOFF = 5.2


def make_conformations(rng):
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 3), -1).reshape(-1, 3)
    places = np.stack([rng.permutation(27)[:ATOMS] for _ in range(MOLECULES)])
    coordinates = 1.2 * grid[places] + rng.normal(0, 0.12, (MOLECULES, ATOMS, 3))
    numbers = rng.choice(ELEMENTS, (MOLECULES, ATOMS), p=(0.5, 0.3, 0.1, 0.1))
    distances = np.linalg.norm(coordinates[:, :, None] - coordinates[:, None], axis=-1) + 10 * np.eye(ATOMS)
    energies = (np.exp(-distances) * numbers[:, :, None] * numbers[:, None]).sum((1, 2))
    energies = (energies - energies.mean()) / energies.std()
    return coordinates.astype("float32"), numbers.astype("int32"), energies.astype("float32")


def cutoff(distances):
    return tf.where(distances < CUTOFF, 0.5 * tf.cos(np.pi * distances / CUTOFF) + 0.5, 0.0)


def symmetry_functions(coordinates, numbers):
    """Radial and angular surroundings of each atom, for each element of the neighbours."""
    species = tf.cast(tf.equal(numbers[..., None], tf.constant(ELEMENTS)), tf.float32)
    vectors = coordinates[:, :, None] - coordinates[:, None]
    distances = tf.sqrt(tf.reduce_sum(vectors**2, -1) + 1e-9) + 100.0 * tf.eye(ATOMS)
    smooth = cutoff(distances)
    radial = tf.exp(-4.0 * (distances[..., None] - RADIAL) ** 2) * smooth[..., None]
    radial = tf.einsum("bijr,bjs->bisr", radial, species)
    units = vectors / distances[..., None]
    theta = tf.acos(0.95 * tf.einsum("bijx,bikx->bijk", units, units))
    mean = (distances[:, :, :, None] + distances[:, :, None]) / 2
    bend = (1 + tf.cos(theta[..., None] - THETAS)) ** 8.0 / 128
    shell = tf.exp(-4.0 * (mean[..., None] - ANGULAR) ** 2) * (smooth[:, :, :, None] * smooth[:, :, None])[..., None]
    angular = tf.einsum("bijkt,bijka,bjs->bista", bend, shell, species)
    return tf.concat([tf.reshape(radial, (-1, ATOMS, 32)), tf.reshape(angular, (-1, ATOMS, 48)), species], -1)


class ANIRegression:
    def __init__(self, hidden=32):
        layers = [keras.layers.Dense(hidden, "tanh"), keras.layers.Dense(hidden, "tanh"), keras.layers.Dense(4)]
        self.network = keras.Sequential([keras.Input((ATOMS, 84)), *layers])
        self.optimizer = keras.optimizers.Adam(1e-3)

    def energy(self, coordinates, numbers):
        features = symmetry_functions(coordinates, numbers)
        atomic = tf.reduce_sum(self.network(features) * features[..., -4:], -1)
        return tf.reduce_sum(atomic, -1)

    @tf.function
    def train_step(self, coordinates, numbers, energies):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.energy(coordinates, numbers) - energies) ** 2)
        self.optimizer.apply(tape.gradient(loss, self.network.trainable_variables), self.network.trainable_variables)
        return loss


keras.utils.set_random_seed(0)
dataset = tf.data.Dataset.from_tensor_slices(make_conformations(np.random.default_rng(0)))
dataset = dataset.shuffle(MOLECULES, seed=0).batch(BATCH, drop_remainder=True)
model, start = ANIRegression(), time.time()
for epoch in range(1, int(os.environ.get("STEPS", 800)) * BATCH // MOLECULES + 1):
    losses = [model.train_step(*batch) for batch in dataset]
    if epoch % 5 == 0:
        print(f"epoch {epoch}, {time.time() - start:.1f} s, loss {np.mean(losses):.4f}", flush=True)
