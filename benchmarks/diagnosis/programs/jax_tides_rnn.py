"""Predicts tides with a recurrent network; the loss is read after every step, or after every tenth."""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

BATCH, HOURS, WIDTH = 24, 72, 192
DAY = 73
STEPS = 25


@partial(jax.jit, donate_argnums=0)
def train_step(params, levels):
    def loss_fn(params):
        def hour(state, level):
            state = jnp.tanh(level @ params["in"] + state @ params["across"])
            return state, state @ params["out"]

        start = jnp.zeros((levels.shape[1], WIDTH))
        _, predicted = jax.lax.scan(hour, start, levels[:-1])
        return jnp.mean((predicted - levels[1:]) ** 2)

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), loss


def gauges(stations, number):
    """The levels of the next hours at some stations, each the median of a day around it."""
    chosen = (np.arange(BATCH) * 7 + number * 3) % stations.shape[1]
    days = sliding_window_view(stations[number : number + HOURS + DAY - 1, chosen], DAY, axis=0)
    return np.sort(days, axis=-1)[..., DAY // 2].astype(np.float32)


def main(logdir, faulty):
    random = np.random.default_rng(8)
    params = {
        "in": jnp.asarray(random.normal(0, 0.1, (4, WIDTH)), jnp.float32),
        "across": jnp.asarray(random.normal(0, 0.05, (WIDTH, WIDTH)), jnp.float32),
        "out": jnp.asarray(random.normal(0, 0.1, (WIDTH, 4)), jnp.float32),
    }
    stations = random.normal(0, 1, (200, 300, 4))
    every = 1 if faulty else 10
    losses = []

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params, loss = train_step(params, gauges(stations, number))
                if number % every == 0:
                    losses.append(float(loss))
        jax.block_until_ready(params)
        return params

    params = train(params, 5)
    with jax.profiler.trace(logdir):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
