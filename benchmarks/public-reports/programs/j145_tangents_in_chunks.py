import os

import jax
import jax.numpy as jnp
import numpy as np

STATE, BOUNDARY, FORCES, TARGETS, CHUNK = 80, 32, 96, 48, 4


def make_problem(rng):
    def matrix(rows, columns):
        return jnp.asarray(rng.normal(size=(rows, columns)) / np.sqrt(columns), jnp.float32)

    return {
        "stiff": matrix(FORCES, STATE), "bend": matrix(FORCES, STATE),
        "press": matrix(FORCES, BOUNDARY), "load": matrix(FORCES, 1)[:, 0],
        "probe": matrix(TARGETS, STATE), "goal": matrix(TARGETS, 1)[:, 0],
    }


def force_balance(problem, x, c):
    return problem["stiff"] @ x + 0.1 * jnp.tanh(problem["bend"] @ x) + problem["press"] @ c - problem["load"]


def objective(problem, x):
    return jnp.sin(problem["probe"] @ x) - 0.3 * problem["goal"]


def pseudo_inverse(matrix):
    u, s, vt = jnp.linalg.svd(matrix, full_matrices=False)
    inverse = jnp.where(s < 1e-6 * s[0], 0.0, 1.0 / s)
    return vt.T @ (inverse[:, None] * u.T)


@jax.jit
def proximal_jvp(problem, x, c, directions):
    """How the objective changes when the boundary moves and the state stays in balance."""
    fx = jax.jacfwd(force_balance, argnums=1)(problem, x, c)
    fx_inverse = pseudo_inverse(fx)

    def along(dc):
        fc = jax.jvp(lambda c: force_balance(problem, x, c), (c,), (dc,))[1]
        dx = -fx_inverse @ fc
        return jax.jvp(lambda x: objective(problem, x), (x,), (dx,))[1], dx

    return jax.vmap(along)(directions)


def jacobian(problem, x, c):
    columns, tangents = [], []
    identity = jnp.eye(BOUNDARY)
    for start in range(0, BOUNDARY, CHUNK):
        dg, dx = proximal_jvp(problem, x, c, identity[start : start + CHUNK])
        columns.append(dg)
        tangents.append(dx)
    return jnp.concatenate(columns).T, jnp.concatenate(tangents).T


@jax.jit
def balance(problem, x, c):
    for _ in range(2):
        fx = jax.jacfwd(force_balance, argnums=1)(problem, x, c)
        x = x - pseudo_inverse(fx) @ force_balance(problem, x, c)
    return x


def optimize(steps):
    problem = make_problem(np.random.default_rng(0))
    x, c = jnp.zeros(STATE), jnp.zeros(BOUNDARY)
    for step in range(steps):
        x = balance(problem, x, c)
        g = objective(problem, x)
        matrix, tangents = jacobian(problem, x, c)
        dc = -jnp.linalg.solve(matrix.T @ matrix + 0.01 * jnp.eye(BOUNDARY), matrix.T @ g)
        x, c = x + 0.2 * tangents @ dc, c + 0.2 * dc
        if step % 5 == 0:
            print(step, float(jnp.sum(g**2)))


optimize(int(os.environ.get("STEPS", 150)))
