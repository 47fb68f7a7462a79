import os

import jax
import jax.numpy as jnp
import numpy as np

HORIZON, DT = 10, 0.1
NX, NU = 2, 1
N, M = HORIZON * (NX + NU), HORIZON * NX


def pendulum(x, u):
    return x + DT * jnp.array([x[1], -9.81 * jnp.sin(x[0]) - 0.2 * x[1] + u[0]])


def cost(z, p):
    xs, us = z[: HORIZON * NX].reshape(HORIZON, NX), z[HORIZON * NX :]
    return jnp.sum((xs[:, 0] - p[2]) ** 2) + 0.05 * jnp.sum(xs[:, 1] ** 2) + 0.002 * jnp.sum(us**2)


def dynamics(z, p):
    xs, us = z[: HORIZON * NX].reshape(HORIZON, NX), z[HORIZON * NX :].reshape(HORIZON, NU)
    before = jnp.concatenate([p[None, :2], xs[:-1]])
    return (xs - jax.vmap(pendulum)(before, us)).ravel()


class JaxProblem:
    """Callbacks and sparsity of  min f(x, p)  s.t.  g(x, p) = 0  for the solver."""

    def __init__(self, f, g, p, n, m, seed=0):
        self.n, self.m = n, m
        lagrangian = lambda x, lam: f(x, p) + lam @ g(x, p)
        self.objective = jax.jit(lambda x: f(x, p))
        self.gradient = jax.jit(jax.grad(lambda x: f(x, p)))
        self.constraints = jax.jit(lambda x: g(x, p))
        self._jacobian = jax.jit(jax.jacrev(lambda x: g(x, p)))
        self._hessian = jax.jit(jax.hessian(lagrangian))
        rng = np.random.default_rng(seed)
        x, lam = rng.standard_normal(n), rng.standard_normal(m)
        self.jac_rows, self.jac_cols = np.nonzero(np.asarray(self._jacobian(x)))
        self.hess_rows, self.hess_cols = np.nonzero(np.asarray(self._hessian(x, lam)))

    def jacobian(self, x):
        return np.asarray(self._jacobian(x))[self.jac_rows, self.jac_cols]

    def hessian(self, x, lam):
        return np.asarray(self._hessian(x, lam))[self.hess_rows, self.hess_cols]


def newton(problem, x, tol=1e-4, max_iter=20):
    n, m = problem.n, problem.m
    lam, kkt = np.zeros(m), np.zeros((n + m, n + m))
    for iteration in range(max_iter):
        residual = np.concatenate([problem.gradient(x), problem.constraints(x)])
        kkt[problem.hess_rows, problem.hess_cols] = problem.hessian(x, lam)
        kkt[n + problem.jac_rows, problem.jac_cols] = jac = problem.jacobian(x)
        kkt[problem.jac_cols, n + problem.jac_rows] = jac
        step = np.linalg.solve(kkt, -residual)
        x, lam = x + step[:n], step[n:]
        if np.abs(step[:n]).max() < tol:
            break
    return x, iteration + 1


def solve(f, g, x0, p, n, m):
    problem = JaxProblem(f, g, jnp.asarray(p), n, m)
    x, iterations = newton(problem, x0)
    return x, float(problem.objective(x)), iterations


state, plan = np.array([0.3, 0.0]), np.zeros(N)
for t in range(int(os.environ.get("STEPS", 45))):
    target = 0.8 * np.sin(0.05 * t)
    plan, value, iterations = solve(cost, dynamics, plan, np.array([*state, target]), N, M)
    state = np.asarray(pendulum(state, plan[HORIZON * NX :][:NU]))
    if t % 5 == 0:
        print(f"{t} angle {state[0]:.3f} target {target:.3f} cost {value:.4f} iterations {iterations}", flush=True)
