import os
import time

import keras
import numpy as np
import tensorflow as tf

N, M, Q, D, F = 100, 20, 3, 12, tf.float64


class RBF:
    def __init__(self):
        self.log_variance = tf.Variable(0.0, dtype=F)
        self.log_lengthscales = tf.Variable(tf.zeros(Q, F))

    def K(self, X):
        X = X / tf.exp(self.log_lengthscales)
        return tf.exp(self.log_variance - 0.5 * tf.reduce_sum(tf.square(X[:, None] - X[None]), -1))

    def eKxz(self, Z, Xmu, Xcov):
        chol = tf.linalg.cholesky(tf.linalg.diag(tf.exp(2 * self.log_lengthscales)) + Xcov)
        solved = tf.linalg.triangular_solve(chol, Xmu[:, :, None] - tf.transpose(Z)[None])
        half_log_dets = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)), 1) - tf.reduce_sum(self.log_lengthscales)
        return tf.exp(self.log_variance - 0.5 * tf.reduce_sum(solved**2, 1) - half_log_dets[:, None])

    def eKzxKxz(self, Z, Xmu, Xcov):
        """Psi 2: N x M x M."""
        lengths = tf.exp(self.log_lengthscales)
        Kmms = tf.sqrt(self.K(Z)) * tf.exp(-0.5 * self.log_variance)
        dets = tf.linalg.det(tf.eye(Q, dtype=F)[None] + 2 * Xcov / lengths**2)
        chol = tf.linalg.cholesky(Xcov + 0.5 * tf.linalg.diag(lengths**2))
        vec = 0.5 * (Z[:, None, :] + Z) - Xmu[:, None, None, :]  # N x M x M x Q
        chols = tf.tile(chol[:, None, None, :, :], [1, M, M, 1, 1])  # N x M x M x Q x Q
        solved = tf.linalg.triangular_solve(chols, vec[..., None])[..., 0]
        scale = tf.exp(2 * self.log_variance) * dets**-0.5
        return scale[:, None, None] * Kmms[None] * tf.exp(-0.5 * tf.reduce_sum(tf.square(solved), -1))


class BayesianGPLVM:
    def __init__(self, Y, X_mean, Z):
        self.Y, self.kern = tf.constant(Y), RBF()
        self.X_mean, self.Z = tf.Variable(X_mean), tf.Variable(Z)
        self.log_X_var = tf.Variable(np.full((N, Q), np.log(0.1)))
        self.log_noise = tf.Variable(np.log(0.1))
        self.variables = [self.X_mean, self.Z, self.log_X_var, self.log_noise, *vars(self.kern).values()]

    def objective(self):
        X_var, noise = tf.exp(self.log_X_var), tf.exp(self.log_noise)
        X_cov = tf.linalg.diag(X_var)
        psi1 = self.kern.eKxz(self.Z, self.X_mean, X_cov)
        psi2 = tf.reduce_sum(self.kern.eKzxKxz(self.Z, self.X_mean, X_cov), 0)
        L = tf.linalg.cholesky(self.kern.K(self.Z) + 1e-5 * tf.eye(M, dtype=F))
        AAT = tf.linalg.triangular_solve(L, tf.transpose(tf.linalg.triangular_solve(L, psi2))) / noise
        LB = tf.linalg.cholesky(AAT + tf.eye(M, dtype=F))
        c = tf.linalg.triangular_solve(LB, tf.linalg.triangular_solve(L, tf.transpose(psi1) @ self.Y)) / noise
        bound = -0.5 * N * D * tf.math.log(2 * np.pi * noise) - D * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(LB)))
        bound += -0.5 * tf.reduce_sum(self.Y**2) / noise + 0.5 * tf.reduce_sum(c**2)
        bound -= 0.5 * D * (N * tf.exp(self.kern.log_variance) / noise - tf.linalg.trace(AAT))
        return 0.5 * tf.reduce_sum(self.X_mean**2 + X_var - self.log_X_var - 1) - bound


rng = np.random.default_rng(0)
Y = np.sin(rng.normal(size=(N, 2)) @ rng.normal(size=(2, D))) + 0.1 * rng.normal(size=(N, D))
X_mean = np.linalg.svd(Y, full_matrices=False)[0][:, :Q] * N**0.5
model = BayesianGPLVM(Y, X_mean, rng.permutation(X_mean)[:M])
optimizer, began = keras.optimizers.Adam(0.01), time.time()


@tf.function
def optimization_step():
    with tf.GradientTape() as tape:
        objective = model.objective()
    optimizer.apply_gradients(zip(tape.gradient(objective, model.variables), model.variables))
    return objective


for iteration in range(int(os.environ.get("STEPS", 700))):
    objective = optimization_step()
    if iteration % 20 == 0:
        print(f"iteration {iteration}: objective {objective:.2f}, {time.time() - began:.1f} s", flush=True)
