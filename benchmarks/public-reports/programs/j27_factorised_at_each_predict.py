import os

import jax
import jax.numpy as jnp
import numpy as np

POINTS, DIMENSIONS, CANDIDATES = 1200, 6, 64


def kernel(x, y):
    distances = jnp.sum(x**2, 1)[:, None] + jnp.sum(y**2, 1)[None] - 2 * x @ y.T
    return jnp.exp(-0.5 * distances / 0.4**2)


@jax.jit
def predict(train_x, train_y, test_x, noise=0.1):
    sigma = kernel(train_x, train_x) + noise * jnp.eye(POINTS)
    lower = jnp.linalg.cholesky(sigma)
    weights = jax.scipy.linalg.cho_solve((lower, True), train_y)
    cross = kernel(train_x, test_x)
    mean = cross.T @ weights
    reduced = jax.scipy.linalg.solve_triangular(lower, cross, lower=True)
    return mean, 1.0 - jnp.sum(reduced**2, axis=0)


def upper_confidence(train_x, train_y, candidates):
    mean, variance = predict(train_x, train_y, candidates)
    return mean + 2.0 * jnp.sqrt(jnp.maximum(variance, 1e-9))


def maximise_acquisition(steps):
    rng = np.random.default_rng(0)
    train_x = jnp.asarray(rng.random((POINTS, DIMENSIONS)), jnp.float32)
    train_y = jnp.sin(6 * train_x[:, 0]) + train_x[:, 1] * train_x[:, 2]
    best, highest = None, -np.inf
    for step in range(steps):
        around = 0.5 if best is None else best
        candidates = np.clip(around + 0.2 * rng.normal(size=(CANDIDATES, DIMENSIONS)), 0, 1).astype("float32")
        scores = np.asarray(upper_confidence(train_x, train_y, candidates))
        if scores.max() > highest:
            best, highest = candidates[scores.argmax()], scores.max()
        if step % 20 == 0:
            print(step, float(highest))


maximise_acquisition(int(os.environ.get("STEPS", 110)))
