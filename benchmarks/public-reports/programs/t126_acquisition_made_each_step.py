import os

import numpy as np
import tensorflow as tf


def rosenbrock(x):
    u, v = 4 * x[:, :1] - 2, 4 * x[:, 1:] - 2
    return np.log1p((1 - u) ** 2 + 100 * (v - u**2) ** 2)


class GaussianProcessRegression:
    """Gaussian process with a Matern 5/2 kernel and a small noise."""

    def __init__(self, x, y, lengthscale=0.25, variance=2.0, noise=1e-3):
        self.lengthscale, self.variance, self.noise = lengthscale, variance, noise
        self.update(x, y)

    def update(self, x, y):
        self.x, self.y = tf.constant(x), tf.constant(y)

    def kernel(self, a, b):
        squared = tf.reduce_sum((a[:, None] - b[None]) ** 2, -1) / self.lengthscale**2
        r = tf.sqrt(5.0 * squared + 1e-12)
        return self.variance * (1 + r + r**2 / 3) * tf.exp(-r)

    def predict(self, x):
        mean = tf.reduce_mean(self.y)
        covariance = self.kernel(self.x, self.x) + self.noise * tf.eye(tf.shape(self.x)[0], dtype=tf.float64)
        factor = tf.linalg.cholesky(covariance)
        cross = tf.linalg.triangular_solve(factor, self.kernel(self.x, x))
        target = tf.linalg.triangular_solve(factor, self.y - mean)
        variance = self.variance - tf.reduce_sum(cross**2, 0)
        return mean + tf.matmul(cross, target, transpose_a=True)[:, 0], tf.maximum(variance, 1e-9)


class ExpectedImprovement:
    def prepare_acquisition_function(self, model):
        mean, _ = model.predict(model.x)
        eta = tf.reduce_min(mean)

        @tf.function
        def acquisition(x):
            mean, variance = model.predict(x)
            scale = tf.sqrt(variance)
            z = (eta - mean) / scale
            cdf, density = 0.5 * (1 + tf.math.erf(z / 2**0.5)), tf.exp(-0.5 * z**2) / (2 * np.pi) ** 0.5
            return (eta - mean) * cdf + scale * density

        return acquisition


def maximise(acquisition, rng):
    candidates = rng.uniform(size=(500, 2))
    best = tf.math.top_k(acquisition(tf.constant(candidates)), 10).indices.numpy()
    x = tf.constant(candidates[best])
    for i in range(20):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = acquisition(x)
        x = tf.clip_by_value(x + 0.02 * 0.9**i * tf.sign(tape.gradient(value, x)), 0.0, 1.0)
    return x.numpy()[np.argmax(acquisition(x))][None]


def main(steps):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(8, 2))
    y = rosenbrock(x)
    model, builder = GaussianProcessRegression(x, y), ExpectedImprovement()
    for step in range(1, steps + 1):
        acquisition = builder.prepare_acquisition_function(model)
        point = maximise(acquisition, rng)
        x, y = np.concatenate([x, point]), np.concatenate([y, rosenbrock(point)])
        model.update(x, y)
        if step % 5 == 0:
            print(f"step {step}: best {y.min():.4f}", flush=True)


main(int(os.environ.get("STEPS", 30)))
