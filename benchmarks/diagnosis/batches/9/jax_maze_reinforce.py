"""REINFORCE in small mazes: the rollouts run on the device."""
import argparse
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

SIZE, ENVS, HORIZON, LIMIT = 13, 128, 16, 60
MOVES = jnp.array([[0, 1], [0, -1], [1, 0], [-1, 0]])


class State(NamedTuple):
    walls: jax.Array
    distance: jax.Array  # steps to the goal, for the shaped reward
    position: jax.Array
    clock: jax.Array


def flood(walls, goal):
    """Distance of every cell from the goal."""
    far = jnp.float32(SIZE * SIZE)
    start = jnp.full((SIZE, SIZE), far).at[goal[0], goal[1]].set(0.0)

    def spread(_, field):
        padded = jnp.pad(field, 1, constant_values=far)
        near = jnp.minimum(
            jnp.minimum(padded[:-2, 1:-1], padded[2:, 1:-1]), jnp.minimum(padded[1:-1, :-2], padded[1:-1, 2:])
        )
        return jnp.where(walls, far, jnp.minimum(field, near + 1.0))

    return jax.lax.fori_loop(0, SIZE * SIZE // 2, spread, start)


def new_maze(key):
    wall_key, goal_key, start_key = jax.random.split(key, 3)
    walls = jax.random.bernoulli(wall_key, 0.25, (SIZE, SIZE))
    goal = jax.random.randint(goal_key, (2,), 0, SIZE)
    position = jax.random.randint(start_key, (2,), 0, SIZE)
    walls = walls.at[goal[0], goal[1]].set(False).at[position[0], position[1]].set(False)
    return State(walls, flood(walls, goal), position, jnp.int32(0))


def observe(state):
    here = jnp.zeros((SIZE, SIZE)).at[state.position[0], state.position[1]].set(1.0)
    goal = (state.distance == 0).astype(jnp.float32)
    return jnp.concatenate([state.walls.astype(jnp.float32).ravel(), here.ravel(), goal.ravel()])


def env_step(restart, state, action, key):
    target = jnp.clip(state.position + MOVES[action], 0, SIZE - 1)
    position = jnp.where(state.walls[target[0], target[1]], state.position, target)
    before = state.distance[state.position[0], state.position[1]]
    after = state.distance[position[0], position[1]]
    moved = state._replace(position=position, clock=state.clock + 1)
    done = (after == 0) | (moved.clock >= LIMIT)
    reward = jnp.clip(before - after, -1, 1) + (after == 0)
    return jax.lax.cond(done, restart, lambda _: moved, key), reward, done


def init_policy(key, sizes=(3 * SIZE * SIZE, 256, 256, 4)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"w": jax.random.normal(k, (m, n)) * (2.0 / m) ** 0.5, "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:])
    ]


def policy(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def rollout(restart, params, states, key):
    def tick(states, key):
        act_key, env_key = jax.random.split(key)
        obs = jax.vmap(observe)(states)
        action = jax.random.categorical(act_key, policy(params, obs))
        step = jax.vmap(functools.partial(env_step, restart))
        states, reward, done = step(states, action, jax.random.split(env_key, ENVS))
        return states, (obs, action, reward, done)

    return jax.lax.scan(tick, states, jax.random.split(key, HORIZON))


def make_update(restart, optimizer):
    def loss_of(params, obs, action, gain):
        logp = jax.nn.log_softmax(policy(params, obs))
        chosen = jnp.take_along_axis(logp, action[..., None], -1)[..., 0]
        return -jnp.mean(chosen * gain) + 0.01 * jnp.mean(jnp.sum(jnp.exp(logp) * logp, -1))

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def update(params, opt_state, states, key):
        states, (obs, action, reward, done) = rollout(restart, params, states, key)
        back = lambda g, rd: (rd[0] + 0.97 * (1 - rd[1]) * g,) * 2
        _, gain = jax.lax.scan(back, jnp.zeros(ENVS), (reward, done.astype(jnp.float32)), reverse=True)
        gain = (gain - gain.mean()) / (gain.std() + 1e-6)
        grads = jax.grad(loss_of)(params, obs, action, gain)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, states, reward.mean()

    return update


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    key = jax.random.key(0)
    levels = jax.jit(jax.vmap(new_maze))(jax.random.split(key, 512))
    if args.fault:
        restart = new_maze
    else:
        restart = lambda key: jax.tree.map(lambda x: x[jax.random.randint(key, (), 0, 512)], levels)
    states = jax.tree.map(lambda x: jnp.array(x[:ENVS]), levels)
    params = init_policy(jax.random.key(1))
    optimizer = optax.adam(3e-4)
    opt_state = optimizer.init(params)
    update = make_update(restart, optimizer)
    keys = jax.random.split(jax.random.key(2), 20)
    for k in keys[:8]:
        params, opt_state, states, reward = update(params, opt_state, states, k)
    reward.block_until_ready()

    rewards = []
    jax.profiler.start_trace(args.logdir)
    for k in keys[8:]:
        params, opt_state, states, reward = update(params, opt_state, states, k)
        rewards.append(reward)
    jax.block_until_ready(rewards)
    jax.profiler.stop_trace()
    print("reward", np.mean(rewards))


if __name__ == "__main__":
    main()
