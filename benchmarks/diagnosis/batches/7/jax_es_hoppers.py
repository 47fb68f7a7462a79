"""Evolution strategies on two host devices: perturbed policies steer hoppers over courses of different length."""

import os
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

STEPS = 10
POPULATION = 64
STATE, HIDDEN, ACTIONS = 32, 96, 8
SIGMA, RATE = 0.05, 0.02


def unpack(theta):
    sizes = [(STATE, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, ACTIONS)]
    out, at = [], 0
    for m, n in sizes:
        out.append(theta[at : at + m * n].reshape(m, n))
        at += m * n
    return out


N_PARAMS = STATE * HIDDEN + HIDDEN * HIDDEN + HIDDEN * ACTIONS


def rollout(theta, start, length, world):
    """Return of one policy on one course of the given length."""
    w1, w2, w3 = unpack(theta)

    def tick(_, carry):
        state, reward = carry
        action = jnp.tanh(jnp.tanh(jnp.tanh(state @ w1) @ w2) @ w3)
        state = jnp.tanh(state @ world["drift"] + action @ world["push"])
        return state, reward + state[0] - 0.01 * jnp.sum(action**2)

    _, reward = jax.lax.fori_loop(0, length, tick, (start, 0.0))
    return reward / length


def generation(theta, keys, starts, lengths, world):
    """On each device: its part of the population, one after the other, then the common gradient."""

    def evaluate(member):
        key, start, length = member
        noise = jax.random.normal(key, (N_PARAMS,))
        up = rollout(theta + SIGMA * noise, start, length, world)
        down = rollout(theta - SIGMA * noise, start, length, world)
        return (up - down) * noise

    pulls = jax.lax.map(evaluate, (keys, starts, lengths))
    gradient = jax.lax.pmean(pulls.mean(axis=0), "pop") / (2 * SIGMA)
    return theta + RATE * gradient


def main(logdir, faulty):
    mesh = Mesh(np.array(jax.devices()), ("pop",))
    rng = np.random.default_rng(2)
    lengths = np.sort(rng.gamma(1.0, 220, POPULATION).astype(np.int32) + 10)
    if not faulty:  # deal them out like cards: long and short ones to each device
        lengths = np.concatenate([lengths[0::4], lengths[3::4], lengths[1::4], lengths[2::4]])
    world = {
        "drift": jnp.asarray(rng.normal(0, 0.3, (STATE, STATE)), jnp.float32),
        "push": jnp.asarray(rng.normal(0, 0.3, (ACTIONS, STATE)), jnp.float32),
    }
    step = jax.jit(
        jax.shard_map(
            generation, mesh=mesh, in_specs=(P(), P("pop"), P("pop"), P("pop"), P()), out_specs=P(), check_vma=False
        )
    )
    split = NamedSharding(mesh, P("pop"))
    whole = NamedSharding(mesh, P())
    theta = jax.device_put(jnp.asarray(rng.normal(0, 0.1, N_PARAMS), jnp.float32), whole)
    world = jax.device_put(world, whole)
    lengths = jax.device_put(lengths, split)

    def run(theta, first, count):
        for number in range(first, first + count):
            with jax.profiler.StepTraceAnnotation("generation", step_num=number):
                keys = jax.device_put(jax.random.split(jax.random.key(number), POPULATION), split)
                starts = jax.device_put(rng.normal(size=(POPULATION, STATE)).astype(np.float32), split)
                theta = jax.block_until_ready(step(theta, keys, starts, lengths, world))
        return theta

    theta = run(theta, 0, 3)
    with jax.profiler.trace(logdir):
        run(theta, 3, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
