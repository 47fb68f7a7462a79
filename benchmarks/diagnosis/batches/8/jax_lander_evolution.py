"""Evolution strategy that learns to land a rocket; the whole generation is one compiled function."""

import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import flatten_util

POPULATION = 384
EPISODES = 4
HORIZON = 160
DT = 0.05
SIGMA = 0.08
RATE = 0.04


class Craft(NamedTuple):
    pos: jax.Array
    vel: jax.Array
    angle: jax.Array
    spin: jax.Array
    fuel: jax.Array


def reset(key):
    a, b, c = jax.random.split(key, 3)
    return Craft(
        pos=jnp.array([0.0, 8.0]) + jax.random.normal(a, (2,)) * jnp.array([2.0, 0.6]),
        vel=jax.random.normal(b, (2,)) * 0.5,
        angle=jax.random.normal(c, ()) * 0.15,
        spin=jnp.zeros(()),
        fuel=jnp.ones(()),
    )


def observe(craft: Craft):
    return jnp.concatenate(
        [craft.pos / 8.0, craft.vel / 3.0, jnp.stack([jnp.sin(craft.angle), jnp.cos(craft.angle), craft.spin, craft.fuel])]
    )


def physics(craft: Craft, action):
    thrust = 16.0 * jax.nn.sigmoid(action[0]) * (craft.fuel > 0)
    torque = 1.5 * jnp.tanh(action[1])
    up = jnp.stack([-jnp.sin(craft.angle), jnp.cos(craft.angle)])
    vel = craft.vel + DT * (thrust * up + jnp.array([0.0, -9.81]))
    alive = craft.pos[1] > 0.0
    moved = Craft(
        pos=craft.pos + DT * vel,
        vel=vel,
        angle=craft.angle + DT * craft.spin,
        spin=0.98 * craft.spin + DT * torque,
        fuel=craft.fuel - DT * thrust / 120.0,
    )
    return jax.tree.map(lambda new, old: jnp.where(alive, new, old), moved, craft)


def init_policy(key, sizes=(8, 64, 64, 2)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"w": jax.random.normal(k, (m, n)) / jnp.sqrt(m), "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:])
    ]


def act(policy, x):
    for layer in policy[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ policy[-1]["w"] + policy[-1]["b"]


def make_generation(unravel):
    def episode(policy, key):
        def tick(craft, _):
            craft = physics(craft, act(policy, observe(craft)))
            cost = 0.02 * jnp.abs(craft.pos[0]) + 0.05 * jnp.abs(craft.angle)
            return craft, -cost

        craft, rewards = jax.lax.scan(tick, reset(key), None, length=HORIZON)
        crash = jnp.sum(jnp.square(craft.vel)) + jnp.abs(craft.pos[1])
        return rewards.sum() - crash + 2.0 * craft.fuel

    def fitness(flat, keys):
        policy = unravel(flat)
        return jax.vmap(lambda key: episode(policy, key))(keys).mean()

    @jax.jit
    def generation(theta, momentum, key):
        noise_key, env_key, key = jax.random.split(key, 3)
        half = jax.random.normal(noise_key, (POPULATION // 2, theta.size))
        noise = jnp.concatenate([half, -half])
        keys = jax.random.split(env_key, EPISODES)
        scores = jax.vmap(fitness, in_axes=(0, None))(theta + SIGMA * noise, keys)
        ranks = jnp.argsort(jnp.argsort(scores)) / (POPULATION - 1) - 0.5
        gradient = ranks @ noise / (POPULATION * SIGMA)
        momentum = 0.9 * momentum + gradient
        return theta + RATE * momentum, momentum, key, scores.mean()

    return generation


def main(logdir):
    key = jax.random.key(11)
    theta, unravel = flatten_util.ravel_pytree(init_policy(key))
    momentum = jnp.zeros_like(theta)
    generation = make_generation(unravel)
    history = []
    for _ in range(6):
        theta, momentum, key, score = generation(theta, momentum, key)
        history.append(score)
    jax.block_until_ready(theta)

    jax.profiler.start_trace(logdir)
    for _ in range(10):
        theta, momentum, key, score = generation(theta, momentum, key)
        history.append(score)
    jax.block_until_ready(theta)
    jax.profiler.stop_trace()

    for number in range(0, len(history), 4):
        print(f"generation {number:3d}  mean score {float(history[number]):8.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
