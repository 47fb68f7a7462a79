import os
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class State(NamedTuple):
    iter_num: jax.Array
    error: jax.Array
    velocity: Any
    t: jax.Array


class OptStep(NamedTuple):
    params: Any
    state: State


class IterativeSolver:
    def run(self, init_params, *args, **kwargs):
        init = OptStep(init_params, self.init_state(init_params))

        def cond_fun(step):
            return (step.state.error > self.tol) & (step.state.iter_num < self.maxiter)

        def body_fun(step):
            return self.update(step.params, step.state, *args, **kwargs)

        return jax.lax.while_loop(cond_fun, body_fun, init)


class ProximalGradient(IterativeSolver):
    def __init__(self, fun, prox, stepsize, tol=1e-4, maxiter=300):
        self.fun, self.prox, self.stepsize, self.tol, self.maxiter = fun, prox, stepsize, tol, maxiter

    def init_state(self, params):
        return State(jnp.array(0), jnp.array(jnp.inf), params, jnp.array(1.0))

    def update(self, params, state, l1reg, X, y):
        grad = jax.grad(self.fun)(state.velocity, X, y)
        new = self.prox(state.velocity - self.stepsize * grad, self.stepsize * l1reg)
        t = (1 + jnp.sqrt(1 + 4 * state.t**2)) / 2
        velocity = new + (state.t - 1) / t * (new - params)
        return OptStep(new, State(state.iter_num + 1, jnp.linalg.norm(new - params), velocity, t))


def logistic_loss(w, X, y):
    return jnp.mean(jnp.logaddexp(0.0, -y * (X @ w)))


def soft_threshold(w, threshold):
    return jnp.sign(w) * jnp.maximum(jnp.abs(w) - threshold, 0.0)


rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 50)).astype("float32")
w_true = rng.normal(size=50) * (rng.random(50) < 0.2)
y = np.sign(X @ w_true + rng.normal(size=2000)).astype("float32")
train, test = (jnp.asarray(X[:1500]), jnp.asarray(y[:1500])), (jnp.asarray(X[1500:]), jnp.asarray(y[1500:]))
solver, loss = ProximalGradient(logistic_loss, soft_threshold, stepsize=1.0), jax.jit(logistic_loss)
for i, l1reg in enumerate(np.geomspace(1e-3, 0.1, int(os.environ.get("STEPS", 90)), dtype="float32")):
    params, state = solver.run(jnp.zeros(50), l1reg, *train)
    if i % 10 == 0:
        print(f"l1reg {l1reg:.4f} iterations {int(state.iter_num)} test loss {float(loss(params, *test)):.4f}", flush=True)
