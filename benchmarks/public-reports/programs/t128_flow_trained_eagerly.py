import os
import time

import keras
import numpy as np
import tensorflow as tf


def posterior_samples(rng, count=1500):
    """Samples of a banana-shaped posterior in four parameters, and their weights."""
    theta = rng.normal(size=(count, 4))
    theta[:, 1] += 0.7 * theta[:, 0] ** 2
    theta[:, 3] = 0.5 * theta[:, 2] + 0.5 * theta[:, 3] + np.sin(theta[:, 0])
    return theta.astype("float32"), rng.uniform(0.5, 1, count).astype("float32")


class MADE:
    """A masked autoencoder that gives shift and log scale of each parameter from those before."""

    def __init__(self, params, hidden, order):
        degrees = [np.arange(1, params + 1)[::order]]
        degrees += [np.arange(units) % max(1, params - 1) + 1 for units in hidden]
        self.masks = [tf.constant((a[:, None] <= b).astype("float32")) for a, b in zip(degrees[:-1], degrees[1:])]
        last = tf.constant((degrees[-1][:, None] < np.tile(degrees[0], 2)).astype("float32"))
        self.masks.append(last)
        self.kernels = [tf.Variable(0.2 * tf.random.normal(mask.shape)) for mask in self.masks]
        self.biases = [tf.Variable(tf.zeros(mask.shape[1])) for mask in self.masks]

    def __call__(self, x):
        for i, (mask, kernel, bias) in enumerate(zip(self.masks, self.kernels, self.biases)):
            x = tf.matmul(x, kernel * mask) + bias
            x = tf.nn.tanh(x) if i < len(self.masks) - 1 else x
        return tf.split(x, 2, -1)


class MAF:
    def __init__(self, theta, weights, number_networks=6, hidden_layers=(24, 24), learning_rate=1e-3):
        self.mean, self.std = theta.mean(0), theta.std(0)
        cut = int(0.8 * len(theta))
        self.theta_train, self.theta_test = theta[:cut], theta[cut:]
        self.weights_train, self.weights_test = weights[:cut], weights[cut:]
        self.mades = [MADE(theta.shape[1], hidden_layers, 1 - 2 * (i % 2)) for i in range(number_networks)]
        self.variables = [v for made in self.mades for v in made.kernels + made.biases]
        self.optimizer = keras.optimizers.Adam(learning_rate)
        self.optimizer.build(self.variables)
        self.loss_history, self.test_loss_history = [], []

    def log_prob(self, theta):
        z, log_det = (theta - self.mean) / self.std, 0.0
        for made in self.mades:
            shift, log_scale = made(z)
            z = (z - shift) * tf.exp(-log_scale)
            log_det -= tf.reduce_sum(log_scale, -1)
        return log_det - 0.5 * tf.reduce_sum(z**2 + np.float32(np.log(2 * np.pi)), -1)

    def _loss(self, theta, weights):
        return -tf.reduce_sum(weights * self.log_prob(theta)) / tf.reduce_sum(weights)

    def _train_step(self, theta, weights):
        with tf.GradientTape() as tape:
            loss = self._loss(theta, weights)
        self.optimizer.apply(tape.gradient(loss, self.variables), self.variables)
        return loss

    def train(self, epochs):
        start = time.time()
        for epoch in range(1, epochs + 1):
            self.loss_history.append(self._train_step(self.theta_train, self.weights_train).numpy())
            self.test_loss_history.append(self._loss(self.theta_test, self.weights_test).numpy())
            if epoch % 10 == 0:
                losses = f"loss {self.loss_history[-1]:.4f}, test loss {self.test_loss_history[-1]:.4f}"
                print(f"epoch {epoch}, {time.time() - start:.1f} s, {losses}", flush=True)


keras.utils.set_random_seed(0)
flow = MAF(*posterior_samples(np.random.default_rng(0)))
flow.train(int(os.environ.get("STEPS", 80)))
