import os
import random
from collections import deque

import jax
import jax.numpy as jnp
import numpy as np

OBSERVATION, ACTIONS, BATCH = 24, 4, 256


class SimpleReplayBuffer:
    """Holds the latest transitions."""

    def __init__(self, capacity):
        self._storage = deque(maxlen=capacity)
        self._random = random.Random(0)

    def add(self, transition):
        self._storage.append(transition)

    def sample(self, batch_size):
        rows = self._random.sample(self._storage, batch_size)
        return [np.stack(column) for column in zip(*rows)]


@jax.jit
def update(params, states, actions, rewards, following):
    def loss_fn(p):
        values = jnp.tanh(states @ p["body"]) @ p["head"]
        chosen = jnp.take_along_axis(values, actions[:, None], axis=1)[:, 0]
        later = (jnp.tanh(following @ p["body"]) @ p["head"]).max(axis=1)
        return jnp.mean((chosen - rewards - 0.99 * jax.lax.stop_gradient(later)) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), loss


@jax.jit
def act(params, state):
    return jnp.argmax(jnp.tanh(state @ params["body"]) @ params["head"])


def train(steps):
    rng = np.random.default_rng(0)
    params = {
        "body": jnp.asarray(rng.normal(size=(OBSERVATION, 64)) / 5, jnp.float32),
        "head": jnp.asarray(rng.normal(size=(64, ACTIONS)) / 8, jnp.float32),
    }
    buffer = SimpleReplayBuffer(capacity=500_000)
    warmup = rng.normal(size=(500_001, OBSERVATION)).astype("float32")
    for row in range(len(warmup) - 1):
        buffer.add((warmup[row], row % ACTIONS, 0.0, warmup[row + 1]))
    state = warmup[-1]
    for step in range(steps):
        action = int(act(params, state))
        following = 0.9 * state + 0.1 * rng.normal(size=OBSERVATION).astype("float32")
        buffer.add((state, action, float(following[action]), following))
        state = following
        params, loss = update(params, *buffer.sample(BATCH))
        if step % 50 == 0:
            print(step, float(loss))


train(int(os.environ.get("STEPS", 6000)))
