import os

import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")


class SquaredExponential(tf.Module):
    def __init__(self, dim):
        super().__init__()
        self.log_lengthscales = tf.Variable(np.zeros(dim))
        self.log_variance = tf.Variable(0.0, dtype=tf.float64)

    def __call__(self, x, y):
        x, y = x / tf.exp(self.log_lengthscales), y / tf.exp(self.log_lengthscales)
        square = tf.reduce_sum(x**2, 1)[:, None] + tf.reduce_sum(y**2, 1)[None, :] - 2.0 * tf.matmul(x, y, transpose_b=True)
        return tf.exp(self.log_variance - 0.5 * tf.maximum(square, 0.0))


class GPR(tf.Module):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = tf.constant(x), tf.constant(y)
        self.kernel = SquaredExponential(x.shape[1])
        self.log_noise = tf.Variable(-2.0, dtype=tf.float64)

    def cholesky(self):
        k = self.kernel(self.x, self.x)
        return tf.linalg.cholesky(k + (tf.exp(self.log_noise) + 1e-6) * tf.eye(self.x.shape[0], dtype=tf.float64))

    def training_loss(self):
        chol = self.cholesky()
        alpha = tf.linalg.triangular_solve(chol, self.y)
        return 0.5 * tf.reduce_sum(alpha**2) + 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)))

    @tf.function
    def predict_f(self, x_new):
        k_star = self.kernel(self.x, x_new)
        chol = self.cholesky()
        a = tf.linalg.triangular_solve(chol, k_star)
        b = tf.linalg.triangular_solve(chol, self.y)
        mean = tf.matmul(a, b, transpose_a=True)
        return mean, tf.exp(self.kernel.log_variance) - tf.reduce_sum(a**2, 0)


@tf.function
def optimization_step(model, optimizer):
    with tf.GradientTape() as tape:
        loss = model.training_loss()
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss


def pendulum(state, torque):
    angle, speed = state
    return np.array([angle + 0.1 * speed, 0.98 * speed + 0.05 * (torque - np.sin(angle))])


def control(steps):
    rng = np.random.default_rng(0)
    states, torques = rng.normal(size=(600, 2)), rng.normal(size=(600, 1))
    moves = np.array([pendulum(s, t[0]) - s for s, t in zip(states, torques)])
    model = GPR(np.hstack([states, torques]), 5.0 * moves + 0.01 * rng.normal(size=moves.shape))
    optimizer = tf.keras.optimizers.Adam(0.05)
    optimizer.build(model.trainable_variables)
    for _ in range(20):
        loss = optimization_step(model, optimizer)
    print("fitted", float(loss))
    state, error = rng.normal(size=2), 0.0
    for step in range(steps):
        torque = np.clip(rng.normal() - state[0] - state[1], -2, 2)
        mean, variance = model.predict_f(np.array([[state[0], state[1], torque]]))
        predicted, state = state + mean[0].numpy() / 5.0, pendulum(state, torque)
        error += float(np.abs(predicted - state).sum())
        if step % 200 == 0:
            print(step, float(variance[0]), error / (step + 1), flush=True)


control(int(os.environ.get("STEPS", 1900)))
