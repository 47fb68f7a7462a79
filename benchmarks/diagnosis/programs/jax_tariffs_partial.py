"""Learns the demand for electricity; the step's rate is bound by functools.partial and jitted anew, or an argument."""

import functools
import math
import sys

import jax
import jax.numpy as jnp
import numpy as np

HOURS, WIDTH, BATCH = 48, 160, 128
STEPS = 10


def step(params, batch, rate):
    def loss_fn(params):
        hidden = batch["past"]
        for layer in params["hidden"]:
            hidden = jax.nn.elu(hidden @ layer)
        return jnp.mean(jnp.abs(hidden @ params["out"] - batch["next"]))

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - rate * g, params, gradients), loss


class Schedule:
    def __init__(self, highest):
        self.highest = highest

    def __call__(self, number):
        return self.highest * 0.5 * (1 + math.cos(math.pi * number / 100))


def main(logdir, faulty):
    random = np.random.default_rng(21)
    params = {
        "hidden": [
            jnp.asarray(random.normal(0, 0.08, shape), jnp.float32) for shape in ((HOURS, WIDTH), (WIDTH, WIDTH))
        ],
        "out": jnp.asarray(random.normal(0, 0.08, (WIDTH, 24)), jnp.float32),
    }
    batches = [
        {"past": random.random((BATCH, HOURS), np.float32), "next": random.random((BATCH, 24), np.float32)}
        for _ in range(5)
    ]
    schedule, jitted = Schedule(0.01), jax.jit(step)

    def train(params, numbers):
        for number in numbers:
            rate = schedule(number)
            update = jax.jit(functools.partial(step, rate=rate)) if faulty else functools.partial(jitted, rate=rate)
            params, loss = update(params, batches[number % 5])
        loss.block_until_ready()
        return params

    params = train(params, range(4))
    jax.profiler.start_trace(logdir)
    train(params, range(4, 4 + STEPS))
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
