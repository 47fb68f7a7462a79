import os

import jax
import jax.numpy as jnp
import numpy as np

N = 80


def occupancy(first, second):
    history = jnp.concatenate([first[None], second[None], jnp.zeros((N - 2, N, N))])

    def body(history, i):
        x = history[i - 1] @ history[i - 2]
        x = x / x.sum(1, keepdims=True)
        return history.at[i].set(x), None

    history, _ = jax.lax.scan(body, history, jnp.arange(2, N))
    return history[-1]


@jax.jit
def fit_step(params, target):
    def loss_fn(p):
        found = occupancy(jax.nn.softmax(p["first"]), jax.nn.softmax(p["second"]))
        return jnp.mean((found - target) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 10.0 * g, params, grads), loss


def fit(steps):
    rng = np.random.default_rng(0)
    params = {name: jnp.asarray(rng.normal(size=(N, N)), jnp.float32) for name in ("first", "second")}
    target = jax.nn.softmax(jnp.asarray(rng.normal(size=(N, N)), jnp.float32))
    for step in range(steps):
        params, loss = fit_step(params, target)
        if step % 20 == 0:
            print(step, float(loss))


fit(int(os.environ.get("STEPS", 1800)))
