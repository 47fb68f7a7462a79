import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

WIDTHS = [32, 64, 64, 64, 64, 64, 64, 64, 1]


def init(seed=0):
    keys = jax.random.split(jax.random.PRNGKey(seed), len(WIDTHS))
    return [
        {"kernel": jax.random.normal(k, (a, b)) / np.sqrt(a), "bias": jnp.zeros(b)}
        for k, a, b in zip(keys, WIDTHS[:-1], WIDTHS[1:])
    ]


def predict(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["kernel"] + layer["bias"])
    return x @ params[-1]["kernel"] + params[-1]["bias"]


@jax.jit
def loss_and_grads(params, x, y):
    return jax.value_and_grad(lambda p: jnp.mean((predict(p, x) - y) ** 2))(params)


def train(steps):
    rng = np.random.default_rng(0)
    data = jnp.asarray(rng.normal(size=(4096, 32)), jnp.float32)
    target = jnp.sum(data, axis=1, keepdims=True)
    params = init()
    optimizer = optax.adam(1e-3)
    state = optimizer.init(params)
    for step in range(steps):
        first = (step * 64) % 4096
        batch, wanted = data[first : first + 64], target[first : first + 64]
        loss, grads = loss_and_grads(params, batch, wanted)
        updates, state = optimizer.update(grads, state)
        params = optax.apply_updates(params, updates)
        if step % 100 == 0:
            print(step, float(loss))


train(int(os.environ.get("STEPS", 6000)))
