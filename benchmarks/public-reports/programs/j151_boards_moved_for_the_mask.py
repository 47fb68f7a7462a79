import os
from collections import namedtuple

import jax
import jax.numpy as jnp

NUM_ENVS, EPISODE = 1000, 60
State = namedtuple("State", "board action_mask score key")


def shift_up(col):
    def shift_element(carry, i):
        col, j = carry
        return jax.lax.cond(col[i] != 0, lambda: (col.at[j].set(col[i]), j + 1), lambda: (col, j)), None

    (col, j), _ = jax.lax.scan(shift_element, (col, 0), jnp.arange(len(col)))
    return jax.lax.while_loop(lambda c: c[1] < len(c[0]), lambda c: (c[0].at[c[1]].set(0), c[1] + 1), (col, j))[0]


def merge_col(col):
    def merge(carry, i):
        col, reward = carry
        merged = lambda: (col.at[i].add(1).at[i + 1].set(0), reward + 2.0 ** (col[i] + 1))
        return jax.lax.cond((col[i] != 0) & (col[i] == col[i + 1]), merged, lambda: (col, reward)), None

    return jax.lax.scan(merge, (col, jnp.float32(0)), jnp.arange(len(col) - 1))[0]


def move_up(board, final_shift=True):
    def move_col(carry, c):
        board, reward = carry
        col, gained = merge_col(shift_up(board[:, c]))
        col = shift_up(col) if final_shift else col
        return (board.at[:, c].set(col), reward + gained), None

    return jax.lax.scan(move_col, (board, jnp.float32(0)), jnp.arange(4))[0]


def move(board, turns, final_shift=True):
    board, reward = move_up(jnp.rot90(board, turns), final_shift)
    return jnp.rot90(board, -turns), reward


def get_action_mask(board):
    return jnp.array([jnp.any(move(board, turns, final_shift=False)[0] != board) for turns in range(4)])


def add_random_cell(board, key):
    cell = jax.random.categorical(key, jnp.where(board.ravel() == 0, 0.0, -jnp.inf))
    return board.ravel().at[cell].set(jnp.where(jax.random.uniform(key) < 0.9, 1, 2)).reshape(4, 4)


def reset(key):
    board = add_random_cell(jnp.zeros((4, 4), jnp.int32), key)
    return State(board, get_action_mask(board), jnp.float32(0), key)


def step(state, action):
    moves = [lambda board, turns=turns: move(board, turns) for turns in range(4)]
    board, reward = jax.lax.switch(action, moves, state.board)
    key, cell_key = jax.random.split(state.key)
    board = add_random_cell(board, cell_key)
    return State(board, get_action_mask(board), state.score + reward, key)


@jax.jit
def play(state, weights, key):
    logits = jnp.where(state.action_mask, state.board.reshape(NUM_ENVS, -1) @ weights, -jnp.inf)
    return jax.vmap(step)(state, jax.random.categorical(key, logits))


key, reset_all = jax.random.PRNGKey(0), jax.jit(jax.vmap(reset))
weights = 0.1 * jax.random.normal(key, (16, 4))
for i in range(int(os.environ.get("STEPS", 2200))):
    if i % EPISODE == 0:
        state = reset_all(jax.random.split(jax.random.fold_in(key, i), NUM_ENVS))
    state = play(state, weights, jax.random.fold_in(key, 10_000 + i))
    if i % 50 == 0:
        print(f"step {i} score {float(state.score.mean()):.1f} tile {2 ** int(state.board.max())}", flush=True)
