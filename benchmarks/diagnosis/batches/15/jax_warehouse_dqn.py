"""Double DQN for a fleet of warehouse robots; the replay memory lives in host RAM."""
import argparse
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

GRID = 16
ACTIONS = 5
FLEET = 32
CAPACITY = 12_288
BATCH = 256
GAMMA = 0.97
MOVES = np.array([[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0]])


class Batch(NamedTuple):
    obs: jax.Array
    action: jax.Array
    reward: jax.Array
    next_obs: jax.Array


class Fleet:
    """Every robot goes to its own parcel; observation is two one-hot planes."""

    def __init__(self, rng):
        self.rng = rng
        self.pos = rng.integers(0, GRID, (FLEET, 2))
        self.goal = rng.integers(0, GRID, (FLEET, 2))

    def observe(self):
        out = np.zeros((FLEET, 2, GRID * GRID), np.float32)
        rows = np.arange(FLEET)
        out[rows, 0, self.pos[:, 0] * GRID + self.pos[:, 1]] = 1
        out[rows, 1, self.goal[:, 0] * GRID + self.goal[:, 1]] = 1
        return out.reshape(FLEET, -1)

    def act(self, action):
        before = np.abs(self.pos - self.goal).sum(1)
        self.pos = np.clip(self.pos + MOVES[action], 0, GRID - 1)
        after = np.abs(self.pos - self.goal).sum(1)
        done = after == 0
        self.goal[done] = self.rng.integers(0, GRID, (int(done.sum()), 2))
        return (before - after + 5.0 * done).astype(np.float32)


class Replay:
    def __init__(self):
        width = 2 * GRID * GRID
        self.obs = np.zeros((CAPACITY, width), np.float32)
        self.next_obs = np.zeros((CAPACITY, width), np.float32)
        self.action = np.zeros(CAPACITY, np.int32)
        self.reward = np.zeros(CAPACITY, np.float32)
        self.head = self.size = 0

    def add(self, obs, action, reward, next_obs):
        at = (self.head + np.arange(len(obs))) % CAPACITY
        self.obs[at], self.action[at], self.reward[at], self.next_obs[at] = obs, action, reward, next_obs
        self.head = (self.head + len(obs)) % CAPACITY
        self.size = min(self.size + len(obs), CAPACITY)

    def tables(self):
        return Batch(self.obs, self.action, self.reward, self.next_obs)


def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [{"w": jax.random.normal(k, (a, b)) * (2 / a) ** 0.5, "b": jnp.zeros(b)}
            for k, a, b in zip(keys, sizes[:-1], sizes[1:])]


def q_values(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


tx = optax.adam(5e-4)


def td_loss(params, target, b):
    q = jnp.take_along_axis(q_values(params, b.obs), b.action[:, None], 1)[:, 0]
    best = q_values(params, b.next_obs).argmax(1)
    nxt = jnp.take_along_axis(q_values(target, b.next_obs), best[:, None], 1)[:, 0]
    return optax.huber_loss(q, jax.lax.stop_gradient(b.reward + GAMMA * nxt)).mean()


@jax.jit
def learn(params, target, opt, batch):
    loss, grads = jax.value_and_grad(td_loss)(params, target, batch)
    updates, opt = tx.update(grads, opt)
    params = optax.apply_updates(params, updates)
    return params, optax.incremental_update(params, target, 0.01), opt, loss


@jax.jit
def draw(tables, rows):
    return jax.tree.map(lambda t: jnp.take(t, rows, axis=0), tables)


def pick(tables, rows):
    return jax.tree.map(lambda t: t[rows], tables)


@jax.jit
def greedy(params, obs):
    return q_values(params, obs).argmax(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()

    rng = np.random.default_rng(3)
    fleet, replay = Fleet(rng), Replay()
    for _ in range(400):
        obs, action = fleet.observe(), rng.integers(0, ACTIONS, FLEET)
        replay.add(obs, action, fleet.act(action), fleet.observe())

    params = init(jax.random.key(0), (2 * GRID * GRID, 512, 512, ACTIONS))
    target, opt = params, tx.init(params)
    sample = draw if args.fault else pick

    def iterate(params, target, opt):
        obs = fleet.observe()
        action = np.where(rng.random(FLEET) < 0.1, rng.integers(0, ACTIONS, FLEET), np.asarray(greedy(params, obs)))
        replay.add(obs, action, fleet.act(action), fleet.observe())
        batch = sample(replay.tables(), rng.integers(0, replay.size, BATCH))
        return learn(params, target, opt, batch)

    for _ in range(8):
        params, target, opt, loss = iterate(params, target, opt)
    jax.block_until_ready(params)

    with jax.profiler.trace(args.logdir):
        for _ in range(12):
            params, target, opt, loss = iterate(params, target, opt)
        jax.block_until_ready(params)
    print("last loss", float(loss))


if __name__ == "__main__":
    main()
