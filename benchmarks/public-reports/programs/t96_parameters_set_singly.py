import os
import time

import numpy as np
import tensorflow as tf


class Parameter:
    def __init__(self, name, value, lower, upper):
        self.name, self.variable = name, tf.Variable(value, dtype=tf.float64, name=name)
        self.lower, self.upper = tf.constant(lower, tf.float64), tf.constant(upper, tf.float64)

    def set_value(self, value):
        value = tf.convert_to_tensor(value, tf.float64)
        if tf.reduce_any(value < self.lower) or tf.reduce_any(value > self.upper):
            raise ValueError(f"{value} of {self.name} is outside of its limits")
        self.variable.assign(value)

    def log_prior(self):
        inside = (self.variable >= self.lower) & (self.variable <= self.upper)
        return tf.where(inside, -tf.math.log(self.upper - self.lower), tf.constant(-np.inf, tf.float64))


class Gauss:
    def __init__(self, *params):
        self.params = params

    def density(self, x):
        mu, sigma, number = (p.variable for p in self.params)
        return number * tf.exp(-0.5 * tf.square((x - mu) / sigma)) / (sigma * np.sqrt(2 * np.pi))


class ExtendedUnbinnedNLL:
    def __init__(self, pdfs, data):
        self.pdfs, self.data = pdfs, tf.constant(data, tf.float64)

    def get_params(self):
        found = {param.name: param for pdf in self.pdfs for param in pdf.params}
        return [found[name] for name in sorted(found)]

    @tf.function(autograph=False)
    def value(self):
        total = sum(pdf.params[-1].variable for pdf in self.pdfs)
        return total - tf.reduce_sum(tf.math.log(tf.add_n([pdf.density(self.data) for pdf in self.pdfs])))


def log_probability(par_values, nll):
    params = nll.get_params()
    try:
        for param, value in zip(params, par_values):
            param.set_value(value)
    except ValueError:
        return -np.inf
    return (tf.add_n([param.log_prior() for param in params]) - nll.value()).numpy()


def stretch_move(walkers, log_probs, nll, rng):
    half = len(walkers) // 2
    for first in (slice(0, half), slice(half, None)):
        second, z = slice(half - first.start, 2 * half - first.start), (rng.uniform(size=half) + 1) ** 2 / 2
        partners = walkers[second][rng.integers(half, size=half)]
        proposed = partners + z[:, None] * (walkers[first] - partners)
        new = np.array([log_probability(par_values, nll) for par_values in proposed])
        accept = np.log(rng.uniform(size=half)) < (walkers.shape[1] - 1) * np.log(z) + new - log_probs[first]
        walkers[first][accept], log_probs[first][accept] = proposed[accept], new[accept]


rng = np.random.default_rng(0)
data = np.concatenate([rng.normal(5, 0.8, 500), rng.normal(2, 0.3, 200), rng.normal(4, 3, 800)])
pdfs = []
for number, (mu, sigma) in enumerate([(5.2, 0.7), (2.1, 0.4), (3.8, 2.8)]):
    limits = [("mu", mu, -5, 15), ("sigma", sigma, 0.05, 8), ("yield", 500.0, 0, 5000)]
    pdfs.append(Gauss(*[Parameter(f"{name}_{number}", *values) for name, *values in limits]))
nll, began = ExtendedUnbinnedNLL(pdfs, data), time.time()
walkers = (1 + 0.01 * rng.normal(size=(32, 9))) * [param.variable.numpy() for param in nll.get_params()]
log_probs = np.array([log_probability(par_values, nll) for par_values in walkers])
for sample in range(int(os.environ.get("STEPS", 45))):
    stretch_move(walkers, log_probs, nll, rng)
    if sample % 10 == 0:
        print(f"sample {sample}: log probability {log_probs.mean():.2f}, {time.time() - began:.1f} s", flush=True)
