import os

import jax
import jax.numpy as jnp
import numpy as np

AGENTS, OBSERVED, ACTIONS = 3, 18, 5


def policy(params, observation):
    h = jax.nn.relu(observation @ params["one"] + params["bias"])
    h = jax.nn.relu(h @ params["two"])
    return h @ params["three"]


def select_action(params, observation, legal, key):
    logits = jnp.where(legal, policy(params, observation), -1e9)
    action = jax.random.categorical(key, logits)
    return action, jax.nn.log_softmax(logits)[action]


class Spread:
    """A world of three agents that move on a plane."""

    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.places = self.rng.normal(size=(AGENTS, 2))

    def observe(self):
        return np.tile(self.places.reshape(-1), (AGENTS, 3)).astype(np.float32)

    def step(self, actions):
        moves = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])[actions]
        self.places = 0.99 * self.places + 0.1 * moves
        return self.observe()


def run(steps):
    rng = np.random.default_rng(0)
    shapes = {"one": (OBSERVED, 64), "bias": (64,), "two": (64, 64), "three": (64, ACTIONS)}
    networks = [
        {name: jnp.asarray(rng.normal(size=shape) / 8, jnp.float32) for name, shape in shapes.items()}
        for _ in range(AGENTS)
    ]
    world, key = Spread(), jax.random.PRNGKey(0)
    observations, legal = world.observe(), np.ones(ACTIONS, bool)
    for step in range(steps):
        actions = []
        for agent in range(AGENTS):
            key, now = jax.random.split(key)
            action, _ = select_action(networks[agent], observations[agent], legal, now)
            actions.append(int(action))
        observations = world.step(actions)
        if step % 200 == 0:
            print(step, world.places[0])


run(int(os.environ.get("STEPS", 5000)))
