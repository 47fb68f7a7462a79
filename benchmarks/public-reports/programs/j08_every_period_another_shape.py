import os

import jax
import jax.numpy as jnp
import numpy as np

PLAYERS = 3000


@jax.jit
def rating_period(mean, deviation, first, second, won):
    """New ratings after the games of one period."""
    q = jnp.log(10.0) / 400.0
    g = 1.0 / jnp.sqrt(1.0 + 3.0 * (q * deviation[second]) ** 2 / jnp.pi**2)
    expected = 1.0 / (1.0 + 10.0 ** (-g * (mean[first] - mean[second]) / 400.0))
    information = jnp.zeros(PLAYERS).at[first].add(g**2 * expected * (1 - expected) * q**2)
    surprise = jnp.zeros(PLAYERS).at[first].add(g * (won - expected))
    precision = 1.0 / deviation**2 + information
    return mean + q / precision * surprise, jnp.sqrt(1.0 / precision)


def periods(rng, count):
    for _ in range(count):
        games = int(rng.integers(200, 4000))
        first = rng.integers(0, PLAYERS, games)
        second = rng.integers(0, PLAYERS, games)
        yield first, second, rng.integers(0, 2, games).astype(np.float32)


def rate(count):
    rng = np.random.default_rng(0)
    mean = jnp.full(PLAYERS, 1500.0)
    deviation = jnp.full(PLAYERS, 350.0)
    for number, (first, second, won) in enumerate(periods(rng, count)):
        mean, deviation = rating_period(mean, deviation, first, second, won)
        if number % 50 == 0:
            print(number, float(mean.max()))


rate(int(os.environ.get("STEPS", 1500)))
