import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

CELLS, GENES, DIMS, EPSILON, ITERATIONS = 400, 60, 8, 0.3, 60


def transport(x, y, f, g):
    cost = jnp.sum(x**2, 1)[:, None] + jnp.sum(y**2, 1)[None] - 2 * x @ y.T
    return jnp.exp((f[:, None] + g[None] - cost) / EPSILON)


@jax.custom_vjp
def sinkhorn(x, y):
    def iterate(_, uv):
        u = 1 / CELLS / (kernel @ uv[1])
        return u, 1 / CELLS / (u @ kernel)

    kernel = transport(x, y, jnp.zeros(CELLS), jnp.zeros(CELLS))
    u, v = jax.lax.fori_loop(0, ITERATIONS, iterate, (jnp.ones(CELLS), jnp.ones(CELLS)))
    return EPSILON * jnp.log(u), EPSILON * jnp.log(v)


def sinkhorn_fwd(x, y):
    potentials = sinkhorn(x, y)
    return potentials, (x, y, *potentials)


def implicit_diff(plan, gr_f, gr_g, ridge_kernel=1e-2, ridge_identity=1e-4):
    marginal_a, marginal_b = plan.sum(1), plan.sum(0)
    schur_ = lambda z: (marginal_b * z - (plan @ z / marginal_a) @ plan) * CELLS
    schur = lambda z: schur_(schur_(z)) + ridge_kernel * jnp.sum(z) + ridge_identity * z
    solver_fun = lambda b: CELLS * jax.scipy.sparse.linalg.cg(schur, b, tol=1e-6, maxiter=150)[0]
    g0, g1 = schur_((gr_f / marginal_a) @ plan), schur_(gr_g)
    sch_f, sch_g = solver_fun(g0), solver_fun(g1)
    vjp_gr_f = (gr_f + plan @ sch_f - plan @ sch_g) / marginal_a
    return vjp_gr_f, -sch_f + sch_g


def sinkhorn_bwd(residuals, grads):
    def first_order_conditions(x, y):
        plan = transport(x, y, f, g)
        return plan.sum(1), plan.sum(0)

    x, y, f, g = residuals
    vjp_f, vjp_g = implicit_diff(transport(x, y, f, g) / EPSILON, *grads)
    return jax.vjp(first_order_conditions, x, y)[1]((-vjp_f, -vjp_g))


sinkhorn.defvjp(sinkhorn_fwd, sinkhorn_bwd)


def loss_fn(params, early, late):
    embed = lambda cells: jnp.tanh(cells @ params["w1"] + params["b1"]) @ params["w2"]
    x, y = embed(early), embed(late)
    plan = transport(x, y, *sinkhorn(x, y))
    return -jnp.mean(jnp.log(CELLS * jnp.diagonal(plan) + 1e-9))


@jax.jit
def train_step(params, opt_state, early, late):
    loss, grads = jax.value_and_grad(loss_fn)(params, early, late)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


rng, optimizer = np.random.default_rng(0), optax.adam(3e-3)
weights = lambda *shape: jnp.asarray(rng.normal(0, shape[0] ** -0.5, shape), "float32")
params = {"w1": weights(GENES, 64), "b1": jnp.zeros(64), "w2": 0.5 * weights(64, DIMS)}
opt_state, drift = optimizer.init(params), rng.normal(0, 0.5, GENES)
for i in range(int(os.environ.get("STEPS", 900))):
    early = rng.normal(size=(CELLS, GENES)).astype("float32")
    late = (early + drift + rng.normal(0, 0.4, early.shape)).astype("float32")
    params, opt_state, loss = train_step(params, opt_state, early, late)
    if i % 10 == 0:
        print(f"step {i} loss {float(loss):.4f}", flush=True)
