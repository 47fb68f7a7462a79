"""Policy gradient for dinghy racing: when to tack on a windward leg with shifting wind."""
import sys
from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

LOGDIR = sys.argv[1]
FAULT = "--fault" in sys.argv[2:]

BOATS, LEG = 64, 64
HIDDEN = 96
GAMMA, LAMBDA = 0.99, 0.95
WARMUP, RECORD = 6, 12


class Helm(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(3):
            x = nn.LayerNorm()(nn.gelu(nn.Dense(HIDDEN)(x)))
        return nn.Dense(3)(x), nn.Dense(1)(x)[..., 0]


def observe(boat):
    x, y, tack, wind, speed = boat
    return jnp.stack([x, y, tack, jnp.sin(wind), jnp.cos(wind), speed, 1 - y, x * tack], -1)


def sail(boat, action, key):
    """Action 0 holds, 1 tacks, 2 bears away."""
    x, y, tack, wind, speed = boat
    tack = jnp.where(action == 1, -tack, tack)
    heading = wind + tack * jnp.where(action == 2, 1.0, 0.75)
    target = jnp.where(action == 1, 0.3, jnp.where(action == 2, 1.1, 1.0))
    speed = 0.7 * speed + 0.3 * target
    wind = 0.95 * wind + 0.08 * jax.random.normal(key, wind.shape)
    gain = 0.02 * speed * jnp.cos(heading)
    x = x + 0.02 * speed * jnp.sin(heading)
    reward = gain - 0.01 * jnp.clip(jnp.abs(x) - 0.5, 0.0)
    return (x, y + gain, tack, wind, speed), reward


@jax.jit
def race(state, key):
    def tick(boat, key):
        seen = observe(boat)
        logits, value = state.apply_fn(state.params, seen)
        pick, gust = jax.random.split(key)
        action = jax.random.categorical(pick, logits)
        logp = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
        boat, reward = sail(boat, action, gust)
        return boat, (seen, action, logp, value, reward)

    zeros = jnp.zeros(BOATS)
    boat = (zeros, zeros, jnp.where(jnp.arange(BOATS) % 2, 1.0, -1.0), zeros, zeros + 0.8)
    boat, leg = jax.lax.scan(tick, boat, jax.random.split(key, LEG))
    return leg, state.apply_fn(state.params, observe(boat))[1]


def advantages(rewards, values, last):
    def backwards(carry, row):
        gae, ahead = carry
        reward, value = row
        delta = reward + GAMMA * ahead - value
        gae = delta + GAMMA * LAMBDA * gae
        return (gae, value), gae

    start = (jnp.zeros_like(last), last)
    _, gae = jax.lax.scan(backwards, start, (rewards, values), reverse=True)
    return gae


if not FAULT:
    advantages = jax.jit(advantages)


@partial(jax.jit, donate_argnums=0)
def improve(state, leg, gae):
    seen, action, old_logp, value, _ = leg
    returns = gae + value
    gae = (gae - gae.mean()) / (gae.std() + 1e-6)

    def loss_fn(params):
        logits, value = state.apply_fn(params, seen)
        logp_all = jax.nn.log_softmax(logits)
        logp = jnp.take_along_axis(logp_all, action[..., None], -1)[..., 0]
        ratio = jnp.exp(logp - old_logp)
        policy = -jnp.minimum(ratio * gae, jnp.clip(ratio, 0.8, 1.2) * gae).mean()
        entropy = -(jnp.exp(logp_all) * logp_all).sum(-1).mean()
        return policy + 0.5 * jnp.mean((value - returns) ** 2) - 0.01 * entropy

    def epoch(state, _):
        return state.apply_gradients(grads=jax.grad(loss_fn)(state.params)), None

    state, _ = jax.lax.scan(epoch, state, None, length=3)
    return state, returns[0].mean()


def main():
    model = Helm()
    params = model.init(jax.random.key(1), jnp.zeros((1, 8)))
    tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-4))
    state = TrainState.create(apply_fn=model.apply, params=params, tx=tx)
    key = jax.random.key(2)

    def iteration(state, key):
        leg, last = race(state, key)
        gae = advantages(leg[4], leg[3], last)
        return improve(state, leg, gae)

    for _ in range(WARMUP):
        key, sub = jax.random.split(key)
        state, score = iteration(state, sub)
    score.block_until_ready()
    with jax.profiler.trace(LOGDIR):
        for _ in range(RECORD):
            key, sub = jax.random.split(key)
            state, score = iteration(state, sub)
        score.block_until_ready()
    print("mean return", float(score))


if __name__ == "__main__":
    main()
