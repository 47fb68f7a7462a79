import os

import jax
import jax.numpy as jnp
import numpy as np

SIDE, SMOOTHED, LIMIT = 64, 8, 250
MOVES = jnp.array([[0, 1], [0, -1], [1, 0], [-1, 0]])


def neighbours(field):
    padded = jnp.pad(field, 1, mode="edge")
    return padded[2:, 1:-1], padded[:-2, 1:-1], padded[1:-1, 2:], padded[1:-1, :-2]


def make_map(key):
    height = jax.random.normal(key, (SIDE, SIDE))
    height = height + height.T
    for _ in range(SMOOTHED):
        height = (height + sum(neighbours(height))) / 5
    walls = height > jnp.std(height)
    return walls.at[0, 0].set(False).at[-1, -1].set(False)


def distances(walls):
    def relax(_, far):
        nearer = jnp.minimum(far, 1 + jnp.min(jnp.stack(neighbours(far)), axis=0))
        return jnp.where(walls, 1e4, nearer)

    start = jnp.full((SIDE, SIDE), 1e4).at[-1, -1].set(0.0)
    return jax.lax.fori_loop(0, 3 * SIDE, relax, start)


def reset(key):
    walls = make_map(key)
    return {"walls": walls, "far": distances(walls), "at": jnp.zeros(2, jnp.int32), "time": jnp.int32(0)}


def play(state, action):
    at = jnp.clip(state["at"] + MOVES[action], 0, SIDE - 1)
    at = jnp.where(state["walls"][at[0], at[1]], state["at"], at)
    reward = state["far"][state["at"][0], state["at"][1]] - state["far"][at[0], at[1]]
    return {**state, "at": at, "time": state["time"] + 1}, reward


@jax.jit
def step(key, number, state, action):
    played, reward = play(state, action)
    done = (played["time"] >= LIMIT) | (played["far"][played["at"][0], played["at"][1]] == 0)
    fresh = reset(jax.random.fold_in(key, number))
    return jax.lax.cond(done, lambda: fresh, lambda: played), reward, done


def rollout(steps):
    rng = np.random.default_rng(0)
    key = jax.random.key(0)
    state = jax.jit(reset)(key)
    total, episodes = 0.0, 0
    for number in range(steps):
        action = rng.choice(4, p=[0.35, 0.15, 0.35, 0.15])
        state, reward, done = step(key, number, state, action)
        total = total + reward
        episodes = episodes + done
        if number % 1000 == 0:
            print(number, float(total), int(episodes))


rollout(int(os.environ.get("STEPS", 36000)))
