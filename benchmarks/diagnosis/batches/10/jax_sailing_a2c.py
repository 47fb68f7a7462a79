"""A2C for a dinghy beating to windward: many boats at once, wind that shifts."""
import argparse
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

BOATS, HORIZON = 384, 24
ACTIONS, OBS, HIDDEN = 5, 9, 192
WARMUP, RECORDED = 8, 12


class Boat(NamedTuple):
    position: jax.Array  # (2,)
    heading: jax.Array
    speed: jax.Array
    wind: jax.Array
    clock: jax.Array


def new_boat(key):
    a, b = jax.random.split(key)
    wind = 0.2 * jax.random.normal(a)
    return Boat(jnp.array([0.0, -5.0]), 0.8 * jnp.sign(jax.random.normal(b)), jnp.float32(0.5), wind, jnp.int32(0))


def polar(angle):
    """Speed over the angle to the wind: none head to wind, best on a beam reach."""
    a = jnp.abs(jnp.arctan2(jnp.sin(angle), jnp.cos(angle)))
    return jnp.where(a < 0.6, 0.1, jnp.sin(0.3 + 0.7 * a)) * 1.2


def sail(boat, action, key):
    turn = (action - ACTIONS // 2) * 0.2
    heading = boat.heading + turn
    wind = 0.97 * boat.wind + 0.05 * jax.random.normal(key)
    speed = 0.8 * boat.speed + 0.2 * polar(heading - wind) - 0.1 * jnp.abs(turn)
    move = 0.1 * speed * jnp.stack([jnp.sin(heading), jnp.cos(heading)])
    position = boat.position + move
    done = (boat.clock >= 200) | (jnp.abs(position[0]) > 5) | (position[1] > 0)
    reward = move[1] + jnp.where(position[1] > 0, 5.0, 0.0)
    fresh = new_boat(key)
    boat = Boat(position, heading, speed, wind, boat.clock + 1)
    return jax.tree.map(lambda f, b: jnp.where(done, f, b), fresh, boat), reward, done


def observe(b):
    h, w = b.heading, b.wind
    return jnp.stack(
        [b.position[0], b.position[1], jnp.sin(h), jnp.cos(h), b.speed, jnp.sin(h - w), jnp.cos(h - w), w, b.clock / 200]
    )


def init(key):
    sizes = [OBS, HIDDEN, HIDDEN, HIDDEN, ACTIONS + 1]
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(k, (m, n)) * np.sqrt(2 / m), jnp.zeros(n)) for k, m, n in zip(keys, sizes, sizes[1:])]


def policy(params, obs):
    for w, b in params[:-1]:
        obs = jnp.tanh(obs @ w + b)
    out = obs @ params[-1][0] + params[-1][1]
    return out[..., :ACTIONS], out[..., ACTIONS]


def rollout(params, boats, key):
    def tick(boats, key):
        a, b = jax.random.split(key)
        obs = jax.vmap(observe)(boats)
        logits, _ = policy(params, obs)
        action = jax.random.categorical(a, logits)
        boats, reward, done = jax.vmap(sail)(boats, action, jax.random.split(b, BOATS))
        return boats, (obs, action, reward, done)

    return jax.lax.scan(tick, boats, jax.random.split(key, HORIZON))


def loss_fn(params, obs, action, reward, done, last_obs):
    logits, value = policy(params, obs)
    _, last = policy(params, last_obs)

    def back(ret, inputs):
        r, d = inputs
        ret = r + 0.99 * jnp.where(d, 0.0, ret)
        return ret, ret

    _, returns = jax.lax.scan(back, jax.lax.stop_gradient(last), (reward, done), reverse=True)
    logp = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(logp, action[..., None], -1)[..., 0]
    advantage = jax.lax.stop_gradient(returns - value)
    entropy = -(jnp.exp(logp) * logp).sum(-1).mean()
    return -(chosen * advantage).mean() + 0.5 * ((returns - value) ** 2).mean() - 0.01 * entropy


@partial(jax.jit, static_argnames="optimizer", donate_argnames=("params", "opt_state", "boats"))
def iterate(params, opt_state, boats, key, optimizer):
    boats, batch = rollout(params, boats, key)
    loss, grads = jax.value_and_grad(loss_fn)(params, *batch, jax.vmap(observe)(boats))
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, boats, {"loss": loss, "reward": batch[2].mean()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args, _ = parser.parse_known_args()

    params = init(jax.random.key(0))
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.rmsprop(7e-4))
    opt_state = optimizer.init(params)
    boats = jax.vmap(new_boat)(jax.random.split(jax.random.key(1), BOATS))
    keys = list(jax.random.split(jax.random.key(2), WARMUP + RECORDED))

    for key in keys[:WARMUP]:
        params, opt_state, boats, log = iterate(params, opt_state, boats, key, optimizer)
    print("reward", float(log["reward"]))

    history = []
    with jax.profiler.trace(args.logdir):
        for key in keys[WARMUP:]:
            params, opt_state, boats, log = iterate(params, opt_state, boats, key, optimizer)
            history.append(log)
        jax.block_until_ready((params, history))
    print("reward", np.mean([float(h["reward"]) for h in history]))


if __name__ == "__main__":
    main()
