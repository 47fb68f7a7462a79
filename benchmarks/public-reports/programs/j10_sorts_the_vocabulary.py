import os

import jax
import jax.numpy as jnp
import numpy as np

BATCH, VOCABULARY, WIDTH = 16, 50_000, 64


def top_p_sample(key, logits, p=0.9):
    order = jnp.argsort(logits, axis=-1)[:, ::-1]
    ordered = jnp.take_along_axis(logits, order, axis=-1)
    mass = jnp.cumsum(jax.nn.softmax(ordered), axis=-1)
    kept = jnp.where(mass - jax.nn.softmax(ordered) < p, ordered, -jnp.inf)
    place = jax.random.categorical(key, kept)
    return jnp.take_along_axis(order, place[:, None], axis=-1)[:, 0]


@jax.jit
def decode_step(params, state, token, key):
    state = jnp.tanh(state @ params["recurrent"] + params["embedding"][token])
    logits = 4.0 * state @ params["embedding"].T
    return state, top_p_sample(key, logits)


def generate(steps):
    rng = np.random.default_rng(0)
    params = {
        "recurrent": jnp.asarray(rng.normal(size=(WIDTH, WIDTH)) / 8, jnp.float32),
        "embedding": jnp.asarray(rng.normal(size=(VOCABULARY, WIDTH)), jnp.float32),
    }
    state, token = jnp.zeros((BATCH, WIDTH)), jnp.zeros(BATCH, jnp.int32)
    key = jax.random.PRNGKey(0)
    for step in range(steps):
        key, now = jax.random.split(key)
        state, token = decode_step(params, state, token, now)
        if step % 50 == 0:
            print(step, token[:4])


generate(int(os.environ.get("STEPS", 1000)))
