import os

import numpy as np
import tensorflow as tf

HORIZON, POINTS, MAXITER, DT = 10, 40, 5, 0.15
F64, TARGET, U_MAX = tf.float64, tf.constant([[1.0, 0.0]], tf.float64), 2.0


class MGPR:
    def __init__(self, X, Y):
        self.X, self.scales = tf.constant(X), tf.constant(np.tile(2 * X.std(0), (Y.shape[1], 1)))
        self.variance = tf.constant(Y.var(0))
        d = (self.X[None, :, None] - self.X[None, None]) / self.scales[:, None, None]
        K = self.variance[:, None, None] * (tf.exp(-0.5 * tf.reduce_sum(d**2, -1)) + 0.01 * tf.eye(len(X), dtype=F64))
        self.iK = tf.linalg.inv(K)
        self.beta = tf.einsum("anm,ma->an", self.iK, Y)

    def predict_on_noisy_inputs(self, m, s):
        x, inv, eye = self.X - m, 1 / self.scales, tf.eye(m.shape[1], dtype=F64)
        iN, z = x[None] * inv[:, None], x[None] * inv[:, None] ** 2
        B = inv[:, :, None] * s[None] * inv[:, None] + eye
        t = tf.linalg.matrix_transpose(tf.linalg.solve(B, tf.linalg.matrix_transpose(iN)))
        lb = tf.exp(-0.5 * tf.reduce_sum(iN * t, -1)) * self.beta
        c = self.variance / tf.sqrt(tf.linalg.det(B))
        M, V = tf.reduce_sum(lb, 1) * c, tf.einsum("ane,an->ea", t * inv[:, None], lb) * c
        R = s[None, None] @ tf.linalg.diag(inv[None] ** 2 + inv[:, None] ** 2) + eye
        Q = tf.linalg.solve(R, tf.broadcast_to(s, tf.shape(R))) / 2
        za, zb = tf.einsum("ane,abef->abnf", z, Q), tf.einsum("bne,abef->abnf", z, Q)
        k = tf.math.log(self.variance)[:, None] - 0.5 * tf.reduce_sum(iN**2, -1)
        own_a, own_b = tf.reduce_sum(za * z[:, None], -1) + k[:, None], tf.reduce_sum(zb * z[None], -1) + k[None]
        L = tf.exp(own_a[..., None] + own_b[:, :, None] + 2 * tf.einsum("abnf,bmf->abnm", za, z))
        S = tf.einsum("an,abnm,bm->ab", self.beta, L, self.beta)
        noise = tf.stack([tf.reduce_sum(self.iK[a] * L[a, a]) for a in range(len(self.beta))])
        S = (S - tf.linalg.diag(noise)) / tf.sqrt(tf.linalg.det(R)) + tf.linalg.diag(self.variance)
        return M[None], S - M[:, None] * M[None], V


class PILCO:
    def __init__(self, data):
        self.mgpr, self.m_init, self.s_init = MGPR(*data), tf.zeros((1, 2), F64), 0.01 * tf.eye(2, dtype=F64)
        self.W, self.b = tf.Variable(tf.zeros((1, 2), F64)), tf.Variable(tf.zeros((1, 1), F64))
        self.optimizer = tf.keras.optimizers.Adam(0.05)

    def compute_action(self, m, s):
        m, s, V = m @ tf.transpose(self.W) + self.b, self.W @ s @ tf.transpose(self.W), tf.transpose(self.W)
        S = U_MAX**2 * (1 - tf.exp(-s)) * (1 + tf.exp(-s) * tf.cos(2 * m)) / 2
        return U_MAX * tf.exp(-s / 2) * tf.sin(m), S, V * U_MAX * tf.exp(-s / 2) * tf.cos(m)

    def propagate(self, m_x, s_x):
        m_u, s_u, c_xu = self.compute_action(m_x, s_x)
        s1 = tf.concat([s_x, s_x @ c_xu], 1)
        s = tf.concat([s1, tf.concat([tf.transpose(s_x @ c_xu), s_u], 1)], 0)
        M, S, C = self.mgpr.predict_on_noisy_inputs(tf.concat([m_x, m_u], 1), s)
        return M + m_x, S + s_x + s1 @ C + tf.transpose(s1 @ C)

    def training_loss(self):
        m_x, s_x, reward = self.m_init, self.s_init, tf.constant(0.0, F64)
        for _ in range(HORIZON):
            m_x, s_x = self.propagate(m_x, s_x)
            iS, d = tf.linalg.inv(tf.eye(2, dtype=F64) + s_x), m_x - TARGET
            reward += tf.exp(-0.5 * tf.reduce_sum(d @ iS * d)) * tf.sqrt(tf.linalg.det(iS))
        return -reward

    def optimize_policy(self, maxiter):
        for _ in range(maxiter):
            with tf.GradientTape() as tape:
                loss = self.training_loss()
            self.optimizer.apply_gradients(zip(tape.gradient(loss, [self.W, self.b]), [self.W, self.b]))
        return -float(loss)


rng, steps = np.random.default_rng(0), int(os.environ.get("STEPS", 25))
X = rng.uniform([-1.5, -1.5, -U_MAX], [1.5, 1.5, U_MAX], (POINTS, 3))
velocity = DT * (X[:, 2] - 0.5 * X[:, 1] - np.sin(X[:, 0]))
pilco = PILCO((X, np.stack([DT * (X[:, 1] + velocity), velocity], 1) + rng.normal(0, 0.005, (POINTS, 2))))
for restart in range(max(1, steps // MAXITER)):
    pilco.W.assign(rng.normal(0, 0.3, (1, 2)))
    pilco.b.assign(rng.normal(0, 0.3, (1, 1)))
    print(f"restart {restart} reward {pilco.optimize_policy(min(steps, MAXITER)):.3f}", flush=True)
