import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


class GPR:
    def __init__(self, rows):
        self.x = tf.placeholder(tf.float64, (rows, 1))
        self.y = tf.placeholder(tf.float64, (rows, 1))
        self.lengthscale = tf.Variable(np.zeros(1), name="lengthscale")
        self.variance = tf.Variable(np.zeros(1), name="variance")
        self.noise = tf.Variable(np.full(1, -2.0), name="noise")
        self.mean = tf.Variable(np.zeros(1), name="mean")
        self.variables = [self.lengthscale, self.variance, self.noise, self.mean]
        self.rows = rows
        self.objective = self.build_objective()

    def matern52(self):
        distance = tf.sqrt(5.0 * (self.x - tf.transpose(self.x)) ** 2 + 1e-12) / tf.nn.softplus(self.lengthscale)
        return tf.nn.softplus(self.variance) * (1.0 + distance + distance**2 / 3.0) * tf.exp(-distance)

    def build_objective(self):
        noise = (tf.nn.softplus(self.noise) + 1e-6) * tf.eye(self.rows, dtype=tf.float64)
        chol = tf.linalg.cholesky(self.matern52() + noise)
        alpha = tf.linalg.triangular_solve(chol, self.y - self.mean)
        return 0.5 * tf.reduce_sum(alpha**2) + tf.reduce_sum(tf.log(tf.linalg.diag_part(chol)))


class ExternalOptimizer:
    def __init__(self, loss, variables):
        self.loss, self.variables = loss, variables
        self.packed = tf.concat([tf.reshape(v, [-1]) for v in variables], 0)
        self.gradient = tf.concat([tf.reshape(g, [-1]) for g in tf.gradients(loss, variables)], 0)
        self.update = tf.placeholder(tf.float64, self.packed.shape)
        pieces = tf.split(self.update, [int(np.prod(v.shape)) for v in variables])
        self.assigns = [v.assign(tf.reshape(p, v.shape)) for v, p in zip(variables, pieces)]

    def minimize(self, session, feed, maxiter):
        packed, velocity = session.run(self.packed), 0.0
        for _ in range(maxiter):
            loss, gradient = session.run([self.loss, self.gradient], feed)
            velocity = 0.8 * velocity - 0.02 * gradient / (1.0 + np.abs(gradient).max())
            packed = packed + velocity
            session.run(self.assigns, {self.update: packed})
        return loss


class ScipyOptimizer:
    def minimize(self, model, session, feed, maxiter=15):
        optimizer = ExternalOptimizer(model.objective, model.variables)
        return optimizer.minimize(session, feed, maxiter)


def backtest(windows):
    rng = np.random.default_rng(0)
    prices = np.cumsum(rng.normal(size=100 + 5 * windows)) / 5.0
    model, opt = GPR(100), ScipyOptimizer()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for window in range(windows):
            x = np.arange(100.0)[:, None] / 10.0
            y = prices[5 * window : 5 * window + 100, None]
            loss = opt.minimize(model, session, {model.x: x, model.y: y - y.mean()})
            if window % 10 == 0:
                print(window, loss, session.run(model.lengthscale), flush=True)


backtest(int(os.environ.get("STEPS", 42)))
