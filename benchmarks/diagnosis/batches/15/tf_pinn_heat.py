"""Physics-informed network for the 1-D heat equation u_t = k u_xx with a hot middle."""
import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

KAPPA, WIDTH, DEPTH = 0.05, 64, 4
INNER, EDGE, START = 2400, 300, 400
WARMUP, STEPS = 6, 10


class FieldNet(tf.Module):
    def __init__(self, dtype, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        sizes = [2] + [WIDTH] * DEPTH + [1]
        self.params = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            w = rng.normal(0, np.sqrt(2 / (a + b)), (a, b))
            self.params.append((tf.Variable(w, dtype=dtype), tf.Variable(np.zeros(b), dtype=dtype)))

    def __call__(self, x, t):
        h = tf.concat([2 * x - 1, 2 * t - 1], axis=1)
        for w, b in self.params[:-1]:
            h = tf.tanh(h @ w + b)
        w, b = self.params[-1]
        return h @ w + b


class Adam:
    def __init__(self, tvars, lr=2e-3):
        self.vars, self.lr = tvars, lr
        self.m = [tf.Variable(tf.zeros_like(v), trainable=False) for v in tvars]
        self.v = [tf.Variable(tf.zeros_like(v), trainable=False) for v in tvars]
        self.t = tf.Variable(0.0, dtype=tvars[0].dtype, trainable=False)

    def apply(self, grads):
        self.t.assign_add(1.0)
        scale = self.lr * tf.sqrt(1 - 0.999**self.t) / (1 - 0.9**self.t)
        for p, g, m, v in zip(self.vars, grads, self.m, self.v):
            m.assign(0.9 * m + 0.1 * g)
            v.assign(0.999 * v + 0.001 * g * g)
            p.assign_sub(scale * m / (tf.sqrt(v) + 1e-8))


class Collocation:
    """Fresh random points for each step: inside, on the two walls, at t = 0."""

    def __init__(self, dtype, seed=1):
        self.rng, self.dtype = np.random.default_rng(seed), dtype

    def __call__(self):
        u = self.rng.uniform
        walls = np.where(u(size=(EDGE, 1)) < 0.5, 0.0, 1.0)
        x0 = u(size=(START, 1))
        u0 = np.exp(-80 * (x0 - 0.5) ** 2)
        cols = (u(size=(INNER, 1)), u(size=(INNER, 1)), walls, u(size=(EDGE, 1)), x0, u0)
        return [tf.convert_to_tensor(c, dtype=self.dtype) for c in cols]


def make_update(net, opt):
    def residual(x, t):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch((x, t))
                u = net(x, t)
            u_x, u_t = inner.gradient(u, (x, t))
        return u_t - KAPPA * outer.gradient(u_x, x)

    @tf.function
    def update(x, t, wx, wt, x0, u0):
        with tf.GradientTape() as tape:
            pde = tf.reduce_mean(residual(x, t) ** 2)
            wall = tf.reduce_mean(net(wx, wt) ** 2)
            start = tf.reduce_mean((net(x0, tf.zeros_like(x0)) - u0) ** 2)
            loss = pde + 10 * wall + 10 * start
        opt.apply(tape.gradient(loss, opt.vars))
        return loss, pde

    return update


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()
    dtype = tf.float64 if args.fault else tf.float32
    net = FieldNet(dtype)
    opt = Adam(net.trainable_variables)
    points = Collocation(dtype)
    update = make_update(net, opt)
    for _ in range(WARMUP):
        update(*points())
    with tf.profiler.experimental.Profile(args.logdir):
        for step in range(STEPS):
            with tf.profiler.experimental.Trace("pinn", step_num=step, _r=1):
                loss, pde = update(*points())
    print(f"last loss {loss.numpy():.5f} (pde {pde.numpy():.5f})")


if __name__ == "__main__":
    main()
