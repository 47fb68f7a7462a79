"""Models the rate of observatory pendulum clocks from temperature, pressure and the time of the year.

    python jax_pendulum_clocks.py LOGDIR
"""
import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

jax.config.update("jax_enable_x64", True)      # Julian dates need more digits than float32 has

WEEK = 168
WEATHER = 6
WIDTH = 96
BATCH = 12
TIDES = np.array([365.2422, 29.530589, 27.554551, 1.0027379, 0.5175251])


class Mixer(eqx.Module):
    over_time: eqx.nn.MLP
    over_width: eqx.nn.MLP
    norm: eqx.nn.LayerNorm

    def __init__(self, dtype, key):
        a, b = jax.random.split(key)
        self.over_time = eqx.nn.MLP(WEEK, WEEK, 192, 1, jax.nn.gelu, dtype=dtype, key=a)
        self.over_width = eqx.nn.MLP(WIDTH, WIDTH, 192, 1, jax.nn.gelu, dtype=dtype, key=b)
        self.norm = eqx.nn.LayerNorm(WIDTH, dtype=dtype)

    def __call__(self, x):
        x = x + jax.vmap(self.over_time)(jax.vmap(self.norm)(x).T).T
        return x + jax.vmap(self.over_width)(jax.vmap(self.norm)(x))


class ClockModel(eqx.Module):
    embed: eqx.nn.Linear
    mixers: list
    rate: eqx.nn.Linear

    def __init__(self, key, dtype=None):
        keys = jax.random.split(key, 4)
        self.embed = eqx.nn.Linear(WEATHER + 2 * len(TIDES), WIDTH, dtype=dtype, key=keys[0])
        self.mixers = [Mixer(dtype, k) for k in keys[1:3]]
        self.rate = eqx.nn.Linear(WIDTH, 1, dtype=dtype, key=keys[3])

    def __call__(self, features):
        x = jax.vmap(self.embed)(features.astype(self.embed.weight.dtype))
        for mixer in self.mixers:
            x = mixer(x)
        return jax.vmap(self.rate)(x)[:, 0]


def tidal_features(julian, weather):
    phase = 2 * jnp.pi * jnp.mod(julian[..., None] / jnp.asarray(TIDES), 1.0)
    return jnp.concatenate([weather, jnp.sin(phase), jnp.cos(phase)], axis=-1)


def read_ledger(weeks=300):
    rng = np.random.default_rng(52)
    julian = 2415020.5 + np.arange(weeks)[:, None] * 7.0 + np.arange(WEEK) / 24.0
    weather = rng.normal(size=(weeks, WEEK, WEATHER)).cumsum(axis=1) * 0.1
    rate = 0.3 * weather[..., 0] - 0.1 * weather[..., 1] + 0.05 * np.sin(2 * np.pi * julian / 27.554551)
    return julian, weather, rate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    julian, weather, rate = read_ledger()
    if args.fault:
        model = ClockModel(jax.random.key(7))
    else:
        model = ClockModel(jax.random.key(7), dtype=jnp.float32)
    optim = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_value_and_grad
    def compute_loss(model, features, rate):
        return jnp.mean(optax.huber_loss(jax.vmap(model)(features), rate))

    @eqx.filter_jit(donate="all-except-first")
    def make_step(batch, model, opt_state):
        julian, weather, rate = batch
        features = tidal_features(julian, weather)
        loss, grads = compute_loss(model, features, rate.astype(model.rate.weight.dtype))
        updates, opt_state = optim.update(grads, opt_state)
        return eqx.apply_updates(model, updates), opt_state, loss

    rng = np.random.default_rng(5)

    def draw():
        rows = rng.integers(0, len(julian), BATCH)
        return jax.device_put((julian[rows], weather[rows], rate[rows]))

    for _ in range(6):
        model, opt_state, loss = make_step(draw(), model, opt_state)
    loss.block_until_ready()
    jax.profiler.start_trace(args.logdir)
    for _ in range(10):
        model, opt_state, loss = make_step(draw(), model, opt_state)
    loss.block_until_ready()
    jax.profiler.stop_trace()
    print(f"loss {float(loss):.5f}")


if __name__ == "__main__":
    main()
