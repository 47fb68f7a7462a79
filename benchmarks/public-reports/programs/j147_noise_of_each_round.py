import os
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

SIZES = (12, 10, 8, 6)
CLIQUES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))


@partial(jax.tree_util.register_dataclass,
         data_fields=["noisy_marginal"], meta_fields=["clique", "stddev"])
@dataclass
class LinearMeasurement:
    noisy_marginal: jax.Array
    clique: tuple
    stddev: float = 1.0


def marginal(table, clique):
    return jnp.sum(table, axis=tuple(a for a in range(len(SIZES)) if a not in clique))


def marginal_loss(potentials, measurements, total):
    table = total * jax.nn.softmax(potentials.ravel()).reshape(SIZES)
    loss = 0.0
    for m in measurements:
        residual = (marginal(table, m.clique) - m.noisy_marginal) / m.stddev
        loss = loss + 0.5 * jnp.sum(residual**2)
    return loss / total


@partial(jax.jit, static_argnames="iterations")
def mirror_descent(potentials, measurements, total, iterations=40):
    def body(_, carry):
        potentials, _ = carry
        loss, grad = jax.value_and_grad(marginal_loss)(potentials, measurements, total)
        size = jnp.max(jnp.abs(grad)) + 1e-8
        return potentials - 0.1 * grad / size, loss

    return jax.lax.fori_loop(0, iterations, body, (potentials, jnp.zeros(())))


def measure(rng, table, stddev):
    """The two-way tables of the data, with Gaussian noise."""
    measurements = []
    for clique in CLIQUES:
        exact = np.asarray(table.sum(tuple(a for a in range(len(SIZES)) if a not in clique)))
        noisy = exact + rng.normal(0.0, stddev, exact.shape)
        measurements.append(LinearMeasurement(jnp.asarray(noisy, jnp.float32), clique, stddev))
    return measurements


def synthesize(rounds):
    rng = np.random.default_rng(0)
    weights = rng.gamma(0.3, 1.0, SIZES)
    table = 10_000.0 * weights / weights.sum()
    potentials = jnp.zeros(SIZES)
    stddev = 200.0
    for number in range(rounds):
        measurements = measure(rng, table, stddev)
        potentials, loss = mirror_descent(potentials, measurements, 10_000.0)
        stddev = 0.97 * stddev
        if number % 5 == 0:
            print(number, "noise", round(stddev, 2), "loss", float(loss))


synthesize(int(os.environ.get("STEPS", 40)))
