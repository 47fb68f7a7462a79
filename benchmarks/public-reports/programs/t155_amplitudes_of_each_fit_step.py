import os
from math import factorial

import keras
import numpy as np
import tensorflow as tf

DATA, PHSP = 8_000, 30_000
RESONANCES = [("f(0)(980)", 0, 0.99, 0.06), ("f(2)(1270)", 2, 1.27, 0.18), ("f(4)(2050)", 4, 2.02, 0.24)]


def wigner_small_d(j, m, n, theta):
    total, cos, sin = 0.0, tf.cos(theta / 2), tf.sin(theta / 2)
    for k in range(max(0, m - n), min(j + m, j - n) + 1):
        weight = factorial(j + m) * factorial(j - m) * factorial(j + n) * factorial(j - n)
        below = factorial(k) * factorial(j + m - k) * factorial(j - n - k) * factorial(k - m + n)
        sign = (-1) ** (k - m + n) * weight**0.5 / below
        total += sign * tf.pow(cos, 2.0 * j + m - n - 2 * k) * tf.pow(sin, 2.0 * k - m + n)
    return total


def wigner_d(j, m, n, phi, theta):
    return tf.complex(tf.cos(m * phi), -tf.sin(m * phi)) * tf.cast(wigner_small_d(j, m, n, theta), tf.complex128)


def breit_wigner(mass, pole, width):
    return tf.cast(pole * width, tf.complex128) / tf.complex(pole**2 - mass**2, -pole * width)


def intensity(parameters, data):
    total = 0.0
    for helicity in (-1, 0, 1):
        amplitude = tf.zeros_like(data["phi"], tf.complex128)
        for name, spin, _, _ in RESONANCES:
            coefficient = tf.complex(parameters[f"re_{name}"], parameters[f"im_{name}"])
            dynamics = breit_wigner(data["m"], parameters[f"m_{name}"], parameters[f"w_{name}"])
            if abs(helicity) <= spin:
                angular = wigner_d(spin, helicity, 0, data["phi"], data["theta"])
                amplitude += coefficient * dynamics * wigner_d(1, 1, helicity, data["phi_1"], data["theta_1"]) * angular
        total += tf.abs(amplitude) ** 2
    return total


@tf.function
def unbinned_nll(parameters, data, phsp):
    normalisation = tf.reduce_mean(intensity(parameters, phsp))
    return -tf.reduce_sum(tf.math.log(intensity(parameters, data) / normalisation))


@tf.function
def value_and_gradient(parameters, data, phsp):
    with tf.GradientTape() as tape:
        tape.watch(parameters)
        nll = unbinned_nll(parameters, data, phsp)
    return nll, tape.gradient(nll, parameters)


def phase_space(size):
    angles = {"phi": rng.uniform(-np.pi, np.pi, size), "phi_1": rng.uniform(-np.pi, np.pi, size)}
    angles |= {"theta": np.arccos(rng.uniform(-1, 1, size)), "theta_1": np.arccos(rng.uniform(-1, 1, size))}
    return {name: tf.constant(x) for name, x in (angles | {"m": rng.uniform(0.3, 2.4, size)}).items()}


rng, start = np.random.default_rng(0), {}
for name, _, pole, width in RESONANCES:
    start |= {f"re_{name}": rng.normal(), f"im_{name}": rng.normal(), f"m_{name}": pole, f"w_{name}": width}
truth = {name: tf.constant(value, tf.float64) for name, value in start.items()}
toy, phsp = phase_space(12 * DATA), phase_space(PHSP)
weights = intensity(truth, toy).numpy()
kept = np.flatnonzero(rng.random(len(weights)) < weights / np.quantile(weights, 0.999))[:DATA]
data = {name: tf.gather(x, kept) for name, x in toy.items()}
parameters = {name: keras.Variable(value * rng.uniform(0.8, 1.2), dtype="float64") for name, value in start.items()}
optimizer, names = keras.optimizers.Adam(0.01), list(parameters)
for i in range(int(os.environ.get("STEPS", 120))):
    nll, gradient = value_and_gradient({name: tf.convert_to_tensor(x.value) for name, x in parameters.items()}, data, phsp)
    optimizer.apply([gradient[name] for name in names], [parameters[name] for name in names])
    if i % 4 == 0:
        print(f"evaluation {i} nll {float(nll):.2f}", flush=True)
