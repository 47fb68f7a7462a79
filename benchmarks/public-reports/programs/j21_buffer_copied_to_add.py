import os

import jax
import jax.numpy as jnp
import numpy as np

CAPACITY, OBSERVATION, BATCH = 200_000, 24, 128


def make_buffer(example):
    stored = {name: jnp.zeros((CAPACITY, *np.shape(value)), jnp.float32) for name, value in example.items()}
    return {"stored": stored, "added": jnp.zeros((), jnp.int32)}


@jax.jit
def add_item(buffer, item):
    at = buffer["added"] % CAPACITY
    stored = {name: kept.at[at].set(item[name]) for name, kept in buffer["stored"].items()}
    return {"stored": stored, "added": buffer["added"] + 1}


@jax.jit
def update(params, buffer, key):
    rows = jax.random.randint(key, (BATCH,), 0, jnp.minimum(buffer["added"], CAPACITY))
    batch = {name: kept[rows] for name, kept in buffer["stored"].items()}

    def td_error(p):
        value = jnp.tanh(batch["observation"] @ p["body"]) @ p["head"]
        following = jnp.tanh(batch["next_observation"] @ p["body"]) @ p["head"]
        target = batch["reward"] + 0.99 * jax.lax.stop_gradient(following[:, 0])
        return jnp.mean((value[:, 0] - target) ** 2)

    loss, grads = jax.value_and_grad(td_error)(params)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), loss


def train(steps):
    rng = np.random.default_rng(0)
    params = {
        "body": jnp.asarray(rng.normal(size=(OBSERVATION, 64)) / 5, jnp.float32),
        "head": jnp.asarray(rng.normal(size=(64, 1)) / 8, jnp.float32),
    }
    observation = rng.normal(size=OBSERVATION).astype("float32")
    item = {"observation": observation, "next_observation": observation, "reward": np.float32(0)}
    buffer = make_buffer(item)
    key = jax.random.PRNGKey(0)
    for step in range(steps):
        following = 0.9 * observation + rng.normal(size=OBSERVATION).astype("float32")
        item = {"observation": observation, "next_observation": following, "reward": following[0]}
        buffer = add_item(buffer, item)
        observation = following
        key, now = jax.random.split(key)
        params, loss = update(params, buffer, now)
        if step % 50 == 0:
            print(step, float(loss))


train(int(os.environ.get("STEPS", 3500)))
