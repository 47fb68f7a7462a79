import os

import jax
import jax.numpy as jnp
import numpy as np

ENVS, TIME = 64, 32


@jax.jit
def update(params, observed, key):
    def loss_fn(p):
        values = jnp.tanh(observed @ p["one"]) @ p["two"]
        return jnp.mean((values - 1.0) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    done = jax.random.uniform(key, (TIME, ENVS)) < 0.08
    lengths = jax.random.randint(key, (TIME, ENVS), 1, 200)
    returns = jax.random.normal(key, (TIME, ENVS))
    params = jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads)
    return params, {"loss": loss, "done": done, "lengths": lengths, "returns": returns}


def log(step, info):
    mask = info["done"]
    length = info["lengths"][mask].mean()
    gained = info["returns"][mask].mean()
    if step % 50 == 0:
        print(step, float(info["loss"]), float(length), float(gained))


def train(steps):
    rng = np.random.default_rng(0)
    params = {
        "one": jnp.asarray(rng.normal(size=(32, 128)), jnp.float32),
        "two": jnp.asarray(rng.normal(size=(128, 1)), jnp.float32),
    }
    observed = jnp.asarray(rng.normal(size=(TIME, ENVS, 32)), jnp.float32)
    key = jax.random.PRNGKey(0)
    for step in range(steps):
        key, now = jax.random.split(key)
        params, info = update(params, observed, now)
        log(step, info)


train(int(os.environ.get("STEPS", 3000)))
