import os

import jax
import jax.numpy as jnp
import numpy as np

FRAMES, VIEWS, LATENT, ITERATIONS = 80, 3, 3, 30


def camera(rng):
    return jnp.asarray(rng.normal(size=(2 * VIEWS, LATENT)), jnp.float32)


def keypoint(rng, emission):
    """Positions of one body part, as an ensemble of networks saw it in each view."""
    path = np.cumsum(rng.normal(0, 0.2, (FRAMES, LATENT)), axis=0)
    noise = rng.gamma(2.0, 0.1, (FRAMES, 2 * VIEWS))
    seen = path @ np.asarray(emission).T + noise * rng.normal(size=noise.shape)
    return jnp.asarray(seen, jnp.float32), jnp.asarray(noise**2, jnp.float32)


def optimize_smooth_param(y, variances, emission):
    """Finds the smoothing parameter of one keypoint by Adam."""
    identity = jnp.eye(LATENT)

    def negative_log_likelihood(log_s):
        process = jnp.exp(log_s) * identity

        def step(carry, frame):
            mean, covariance = carry
            observed, variance = frame
            covariance = covariance + process
            residual = observed - emission @ mean
            total = emission @ covariance @ emission.T + jnp.diag(variance)
            factor = jax.scipy.linalg.cho_factor(total, lower=True)
            gain = jax.scipy.linalg.cho_solve(factor, emission @ covariance).T
            weighted = jax.scipy.linalg.cho_solve(factor, residual)
            log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(factor[0])))
            mean = mean + gain @ residual
            covariance = covariance - gain @ emission @ covariance
            return (mean, covariance), residual @ weighted + log_det

        start = jnp.zeros(LATENT), 10.0 * identity
        return 0.5 * jax.lax.scan(step, start, (y, variances))[1].sum()

    @jax.jit
    def run(log_s):
        def body(i, carry):
            log_s, first, second = carry
            grad = jax.grad(negative_log_likelihood)(log_s)
            first = 0.9 * first + 0.1 * grad
            second = 0.99 * second + 0.01 * grad**2
            t = i + 1.0
            scaled = first / (1 - 0.9**t) / (jnp.sqrt(second / (1 - 0.99**t)) + 1e-8)
            return log_s - 0.25 * scaled, first, second

        zero = jnp.zeros(())
        return jax.lax.fori_loop(0, ITERATIONS, body, (log_s, zero, zero))[0]

    return jnp.exp(run(jnp.log(0.5)))


def smooth_video(keypoints):
    rng = np.random.default_rng(0)
    emission = camera(rng)
    found = []
    for k in range(keypoints):
        y, variances = keypoint(rng, emission)
        found.append(float(optimize_smooth_param(y, variances, emission)))
        if k % 4 == 0:
            print("keypoint", k, "smoothing", found[-1])
    return found


smooth_video(int(os.environ.get("STEPS", 15)))
