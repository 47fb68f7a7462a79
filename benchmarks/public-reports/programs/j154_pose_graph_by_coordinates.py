import os
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.sparse import BCOO

POSES, CLOSURES, LM_ITERATIONS, CG_ITERATIONS = 3000, 4000, 5, 150
FactorGraph = namedtuple("FactorGraph", "pairs measured sqrt_precision jac_indices")


def between(first, second):
    cos, sin = jnp.cos(first[2]), jnp.sin(first[2])
    dx, dy, turn = second - first
    return jnp.stack([cos * dx + sin * dy, cos * dy - sin * dx, jnp.arctan2(jnp.sin(turn), jnp.cos(turn))])


def factor_residual(perturbation, both, measured, sqrt_precision):
    first, second = both + perturbation.reshape(2, 3)
    error = between(first, second) - measured
    return sqrt_precision * error.at[2].set(jnp.arctan2(jnp.sin(error[2]), jnp.cos(error[2])))


def residual_vector(graph, poses):
    zeros = jnp.zeros((len(graph.pairs), 6))
    return jax.vmap(factor_residual)(zeros, poses[graph.pairs], graph.measured, graph.sqrt_precision).ravel()


def compute_jac_values(graph, poses):
    zeros = jnp.zeros((len(graph.pairs), 6))
    jacobian = jax.vmap(jax.jacfwd(factor_residual))
    return jacobian(zeros, poses[graph.pairs], graph.measured, graph.sqrt_precision)


def jacobian_indices(pairs):
    rows = np.arange(len(pairs) * 3).reshape(-1, 3, 1) + np.zeros((1, 1, 6), int)
    cols = (pairs[:, :, None] * 3 + np.arange(3)).reshape(-1, 1, 6) + np.zeros((1, 3, 1), int)
    return np.stack([rows.ravel(), cols.ravel()], 1)


@jax.jit
def lm_step(graph, poses, lambd):
    residual = residual_vector(graph, poses)
    jac_values = compute_jac_values(graph, poses).ravel()
    A = BCOO((jac_values, graph.jac_indices), shape=(residual.size, poses.size))
    A_multiply, AT_multiply = lambda x: A @ x, lambda r: A.T @ r
    diagonal = jnp.zeros(poses.size).at[graph.jac_indices[:, 1]].add(jac_values**2) + lambd
    tangent, _ = jax.scipy.sparse.linalg.cg(
        lambda x: AT_multiply(A_multiply(x)) + lambd * x,
        -AT_multiply(residual),
        M=lambda x: x / diagonal,
        tol=1e-7,
        maxiter=CG_ITERATIONS,
    )
    proposed = poses + tangent.reshape(-1, 3)
    cost, new_cost = jnp.sum(residual**2), jnp.sum(residual_vector(graph, proposed) ** 2)
    better = new_cost < cost
    return jnp.where(better, proposed, poses), jnp.where(better, lambd / 3, lambd * 5), jnp.minimum(cost, new_cost)


rng = np.random.default_rng(0)
angles = np.linspace(0, 60 * np.pi, POSES)
radius = 10 + 3 * np.sin(angles / 60)
truth = np.stack([radius * np.cos(angles), radius * np.sin(angles), angles + np.pi / 2], 1).astype("float32")
odometry = np.stack([np.arange(POSES - 1), np.arange(1, POSES)], 1)
start = rng.integers(0, POSES - 150, CLOSURES)
pairs = np.concatenate([odometry, np.stack([start, start + 100 + rng.integers(-4, 5, CLOSURES)], 1)])
exact = jax.jit(jax.vmap(between))(truth[pairs[:, 0]], truth[pairs[:, 1]])
precision, jac_indices = jnp.asarray([20.0, 20.0, 100.0]), jnp.asarray(jacobian_indices(pairs))
for run in range(int(os.environ.get("STEPS", 40))):
    noise = rng.normal(size=exact.shape).astype("float32") / precision
    graph = FactorGraph(pairs, exact + noise, jnp.broadcast_to(precision, exact.shape), jac_indices)
    poses, lambd = truth + rng.normal(0, 0.3, truth.shape).astype("float32"), 1e-2
    for iteration in range(LM_ITERATIONS):
        poses, lambd, cost = lm_step(graph, poses, lambd)
    error = float(jnp.abs(poses[:, :2] - truth[:, :2]).mean())
    print(f"log {run} cost {float(cost):.1f} error {error:.3f} lambda {float(lambd):.1e}", flush=True)
