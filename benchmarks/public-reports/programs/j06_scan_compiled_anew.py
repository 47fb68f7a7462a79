import os

import jax
import jax.numpy as jnp


def log_density(x):
    return -0.5 * jnp.sum(x**2) - 0.1 * jnp.sum(jnp.cos(3 * x))


def propose(key, position, flow):
    noise = jax.random.normal(key, position.shape)
    return flow["shift"] + jnp.exp(flow["log_scale"]) * noise


def sample_flow(key, position, flow, count):
    """A chain of proposals of the flow, accepted or not."""

    def body(carry, key):
        at, old = carry
        first, second = jax.random.split(key)
        new = propose(first, at, flow)
        value = log_density(new)
        accept = jnp.log(jax.random.uniform(second)) < value - old
        at = jnp.where(accept, new, at)
        return (at, jnp.where(accept, value, old)), at

    keys = jax.random.split(key, count)
    (at, _), chain = jax.lax.scan(body, (position, log_density(position)), keys)
    return at, chain


def run(rounds):
    key = jax.random.PRNGKey(0)
    position = jnp.zeros(8)
    flow = {"shift": jnp.zeros(8), "log_scale": jnp.zeros(8)}
    for step in range(rounds):
        key, now = jax.random.split(key)
        position, chain = sample_flow(now, position, flow, 500)
        flow = {"shift": chain.mean(0), "log_scale": jnp.log(chain.std(0) + 0.1)}
        if step % 20 == 0:
            print(step, position[:2])


run(int(os.environ.get("STEPS", 800)))
