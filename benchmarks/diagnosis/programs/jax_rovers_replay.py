"""Rovers learn from a replay memory on the device; each step copies all of it, or writes into the one it is given."""

import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

PLACES, SENSES, MOVES, ROVERS, BATCH, WIDTH = 120_000, 40, 5, 64, 384, 512
STEPS = 16


class Memory(NamedTuple):
    before: jax.Array
    after: jax.Array
    moves: jax.Array
    rewards: jax.Array
    written: jax.Array


def empty():
    views = jnp.zeros((PLACES, SENSES))
    return Memory(views, views.copy(), jnp.zeros(PLACES, jnp.int32), jnp.zeros(PLACES), jnp.zeros((), jnp.int32))


def remember(memory, *seen):
    begin = memory.written % (PLACES - ROVERS)
    kept = [jax.lax.dynamic_update_slice_in_dim(old, new, begin, 0) for old, new in zip(memory[:4], seen, strict=True)]
    return Memory(*kept, memory.written + ROVERS)


def values(params, views):
    for weights in params[:-1]:
        views = jax.nn.relu(views @ weights)
    return views @ params[-1]


def learn(memory, params, key, *seen):
    memory = remember(memory, *seen)
    chosen = jax.random.randint(key, (BATCH,), 0, jnp.minimum(memory.written, PLACES))
    before, after, moves, rewards = (column[chosen] for column in memory[:4])

    def loss_fn(params):
        best = jax.lax.stop_gradient(rewards + 0.97 * values(params, after).max(axis=1))
        guessed = jnp.take_along_axis(values(params, before), moves[:, None], axis=1)[:, 0]
        return jnp.mean((guessed - best) ** 2)

    gradients = jax.grad(loss_fn)(params)
    return memory, [p - 0.01 * g for p, g in zip(params, gradients, strict=True)]


def main(logdir, faulty):
    update = jax.jit(learn) if faulty else jax.jit(learn, donate_argnums=0)
    random = np.random.default_rng(54)
    params = [
        jnp.asarray(random.normal(0, 0.06, shape), jnp.float32)
        for shape in ((SENSES, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, MOVES))
    ]
    memory = empty()
    keys = list(jax.random.split(jax.random.key(54), STEPS))
    drives = [
        (
            random.random((ROVERS, SENSES), np.float32),
            random.random((ROVERS, SENSES), np.float32),
            random.integers(0, MOVES, ROVERS, np.int32),
            random.random(ROVERS, np.float32),
        )
        for _ in range(5)
    ]

    def train(memory, params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("learn", step_num=number):
                memory, params = update(memory, params, keys[number], *drives[number % len(drives)])
        return jax.block_until_ready((memory, params))

    memory, params = train(memory, params, 4)
    with jax.profiler.trace(logdir):
        train(memory, params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
