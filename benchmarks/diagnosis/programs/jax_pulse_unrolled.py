"""Smooths recordings of pulses inside the model, value after value in a loop that is unrolled, or by one product."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

LENGTH, BATCH, WIDTH = 256, 16, 32
STEPS = 15


def loop(share, waves):
    level, levels = waves[:, 0], []
    for moment in range(LENGTH):
        level = share * waves[:, moment] + (1 - share) * level
        levels.append(level)
    return jnp.stack(levels, axis=1)


def product(share, waves):
    moments = jnp.arange(LENGTH)
    apart = moments[:, None] - moments[None, :]
    weights = jnp.where(apart >= 0, share * (1 - share) ** jnp.maximum(apart, 0), 0.0)
    weights = weights.at[:, 0].add((1 - share) ** (moments + 1.0))
    return jnp.einsum("ts,bsc->btc", weights, waves)


def make_step(smooth):
    def loss_fn(params, waves, rates):
        hidden = jnp.tanh(waves @ params["inner"])
        hidden = smooth(jax.nn.sigmoid(params["share"]), hidden)
        return jnp.mean((hidden[:, -1] @ params["outer"] - rates) ** 2)

    @jax.jit
    def step(params, waves, rates):
        loss, gradients = jax.value_and_grad(loss_fn)(params, waves, rates)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), loss

    return step


def main(logdir, faulty):
    random = np.random.default_rng(9)
    params = {
        "inner": jnp.asarray(random.normal(0, 0.2, (3, WIDTH)), jnp.float32),
        "share": jnp.asarray(-1.0),
        "outer": jnp.asarray(random.normal(0, 0.2, (WIDTH,)), jnp.float32),
    }
    waves = jnp.asarray(random.random((BATCH, LENGTH, 3), np.float32))
    rates = jnp.asarray(random.random(BATCH, np.float32))
    step = make_step(loop if faulty else product)

    def fit(params, steps):
        total = 0.0
        for _ in range(steps):
            params, loss = step(params, waves, rates)
            total = loss
        total.block_until_ready()
        return params

    params = fit(params, 4)
    jax.profiler.start_trace(logdir)
    fit(params, STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
