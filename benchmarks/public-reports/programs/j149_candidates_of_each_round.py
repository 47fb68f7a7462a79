import os

import jax
import jax.numpy as jnp
import numpy as np

DIMENSIONS, MEMORY, CANDIDATES = 4, 120, 1600


def objective(x):
    return float(np.sin(5 * x[0]) * x[1] - (x[2] - 0.3) ** 2 + 0.5 * np.cos(4 * x[3] * x[0]))


class GaussianProcess:
    """Regression with a Matern kernel on a memory of fixed size."""

    def __init__(self, lengthscale=0.4, noise=1e-3):
        self.lengthscale, self.noise = lengthscale, noise

    def kernel(self, a, b):
        square = jnp.sum(a**2, 1)[:, None] + jnp.sum(b**2, 1)[None] - 2 * a @ b.T
        r = jnp.sqrt(5.0 * jnp.maximum(square, 1e-12)) / self.lengthscale
        return (1 + r + r**2 / 3) * jnp.exp(-r)

    def predict(self, x, y, test_inputs):
        gram = self.kernel(x, x) + self.noise * jnp.eye(len(x))
        lower = jnp.linalg.cholesky(gram)
        cross = self.kernel(x, test_inputs)
        alpha = jax.scipy.linalg.cho_solve((lower, True), y)
        solved = jax.scipy.linalg.solve_triangular(lower, cross, lower=True)
        mean = cross.T @ alpha
        covariance = self.kernel(test_inputs, test_inputs) - solved.T @ solved
        return mean, covariance


posterior = GaussianProcess()
predict = jax.jit(posterior.predict)


@jax.jit
def upper_confidence_bound(mean, covariance):
    stddev = jnp.sqrt(jnp.maximum(jnp.diagonal(covariance), 1e-9))
    return mean + 2.0 * stddev


def search(rounds):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(MEMORY, DIMENSIONS)).astype(np.float32)
    y = np.array([objective(row) for row in x], np.float32)
    best = y.max()
    for number in range(rounds):
        candidates = rng.uniform(size=(CANDIDATES, DIMENSIONS)).astype(np.float32)
        mean, covariance = predict(x, y - y.mean(), candidates)
        chosen = candidates[int(jnp.argmax(upper_confidence_bound(mean, covariance)))]
        worst = int(np.argmin(y))
        x[worst], y[worst] = chosen, objective(chosen)
        best = max(best, y[worst])
        if number % 50 == 0:
            print(number, "best", float(best))


search(int(os.environ.get("STEPS", 800)))
