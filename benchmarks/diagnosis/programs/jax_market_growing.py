"""Prices options by a regression over the days so far; the history grows by a day each step, or lies in a fixed window."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

OPTIONS, FACTORS, WINDOW = 256, 48, 120
STEPS = 12


@jax.jit
def price(weights, history, known, prices):
    def loss_fn(weights):
        drift = jnp.cumsum(history * known[:, None], axis=0) / (1 + jnp.arange(len(history))[:, None])
        features = jnp.tanh(drift @ weights["days"])
        return jnp.mean((features.mean(0) @ weights["options"] - prices) ** 2)

    slopes = jax.grad(loss_fn)(weights)
    return jax.tree.map(lambda w, s: w - 0.1 * s, weights, slopes)


def main(logdir, faulty):
    random = np.random.default_rng(39)
    weights = {
        "days": jnp.asarray(random.normal(0, 0.1, (FACTORS, 4096)), jnp.float32),
        "options": jnp.asarray(random.normal(0, 0.1, (4096, OPTIONS)), jnp.float32),
    }
    days = random.normal(0, 0.01, (WINDOW, FACTORS)).astype(np.float32)
    prices = jnp.asarray(random.random(OPTIONS, np.float32))

    def so_far(today):
        if faulty:
            return days[:today], np.ones(today, np.float32)
        return days, (np.arange(WINDOW) < today).astype(np.float32)

    def train(weights, first, steps):
        for today in range(first, first + steps):
            with jax.profiler.StepTraceAnnotation("day", step_num=today):
                weights = price(weights, *so_far(today), prices)
                jax.block_until_ready(weights)
        return weights

    weights = train(weights, 80, 4)
    jax.profiler.start_trace(logdir)
    train(weights, 84, STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
