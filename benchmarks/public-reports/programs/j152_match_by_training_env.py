import os
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np

SIZE, POOL, TRUNCATION, DIRECTIONS = 15, 2000, 300, np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
GameState = namedtuple("GameState", "armies owners mountains generals time winner pool_idx")
TimeStep = namedtuple("TimeStep", "observation reward terminated truncated")


@jax.jit
def game_step(state, actions):
    armies, owners = state.armies, state.owners
    for player in range(2):
        row, col, direction = actions[player]
        target = jnp.clip(jnp.array([row, col]) + jnp.asarray(DIRECTIONS)[direction], 0, SIZE - 1)
        moving, standing = armies[row, col] - 1, armies[tuple(target)]
        valid = owners[player, row, col] & (moving > 0) & ~state.mountains[tuple(target)]
        mine = owners[player][tuple(target)]
        left = jnp.where(mine, standing + moving, jnp.abs(standing - moving))
        taken = valid & (mine | (moving > standing))
        armies = jnp.where(valid, armies.at[row, col].set(1).at[tuple(target)].set(left), armies)
        captured = owners.at[(slice(None), *target)].set(False).at[(player, *target)].set(True)
        owners = jnp.where(taken, captured, owners)
    time, (rows, cols) = state.time + 1, state.generals.T
    armies = armies.at[rows, cols].add(time % 2) + owners.any(0) * (time % 25 == 0)
    lost = owners[1 - jnp.arange(2), rows, cols]
    winner = jnp.where(lost.any(), 1 - jnp.argmax(lost), -1)
    return state._replace(armies=armies, owners=owners, time=time, winner=winner)


class GeneralsEnv:
    def make_state(self, key):
        where = jax.random.choice(key, SIZE * SIZE, (2,), replace=False)
        generals = jnp.stack([where // SIZE, where % SIZE], 1)
        mountains = (jax.random.uniform(key, (SIZE, SIZE)) < 0.15).at[generals[:, 0], generals[:, 1]].set(False)
        owners = jnp.zeros((2, SIZE, SIZE), bool).at[jnp.arange(2), generals[:, 0], generals[:, 1]].set(True)
        return GameState(owners.sum(0), owners, mountains, generals, 0, -1, 0)

    def reset(self, key):
        pool = jax.jit(jax.vmap(self.make_state))(jax.random.split(key, POOL))
        return pool, jax.tree.map(lambda x: x[0], pool)

    def observe(self, state, player):
        owned = jnp.pad(state.owners[player], 1)
        rows = owned | jnp.roll(owned, 1, 0) | jnp.roll(owned, -1, 0)
        visible = (rows | jnp.roll(rows, 1, 1) | jnp.roll(rows, -1, 1))[1:-1, 1:-1]
        planes = state.armies, state.owners[player], state.owners[1 - player], state.mountains
        return jnp.stack([jnp.where(visible, plane, 0) for plane in planes])

    def step(self, state, actions, pool):
        new = game_step(state, actions)
        terminated, truncated = new.winner >= 0, new.time >= TRUNCATION
        reward = jnp.where(terminated, jnp.where(new.winner == jnp.arange(2), 1.0, -1.0), 0.0)
        fresh = jax.tree.map(lambda x: x[new.pool_idx % POOL], pool)._replace(pool_idx=new.pool_idx + 1)
        final = jax.tree.map(lambda a, b: jnp.where(terminated | truncated, a, b), fresh, new)
        observation = jnp.stack([self.observe(new, player) for player in range(2)])
        return TimeStep(observation, reward, terminated, truncated), final


def expander(rng, state, player):
    armies, mine, mountains = np.asarray(state.armies), np.asarray(state.owners)[player], np.asarray(state.mountains)
    cells = np.argwhere(mine)
    rows, cols = np.clip(cells[:, None] + DIRECTIONS, 0, SIZE - 1).transpose(2, 0, 1)
    value = 3 * ~mine[rows, cols] + armies[cells[:, 0], cells[:, 1]][:, None] / 50 - 9 * mountains[rows, cols]
    best = np.unravel_index(np.argmax(value + rng.random(value.shape)), value.shape)
    return (*cells[best[0]], best[1])


rng, env, wins = np.random.default_rng(0), GeneralsEnv(), [0, 0, 0]
pool, state = env.reset(jax.random.PRNGKey(1))
for turn in range(int(os.environ.get("STEPS", 2500))):
    actions = np.array([expander(rng, state, player) for player in range(2)], np.int32)
    timestep, state = env.step(state, actions, pool)
    if timestep.terminated or timestep.truncated:
        wins[int(np.argmax(timestep.reward)) if timestep.terminated else 2] += 1
    if turn % 200 == 0:
        print(f"turn {turn} land {np.asarray(state.owners).sum((1, 2))} wins and draws {wins}", flush=True)
