"""Learns to run a greenhouse (heating, vents, lamps, water): advantage weighted regression from a year's log and own hours."""
import argparse
import collections
import functools
import itertools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

SENSORS, ACTIONS, CAPACITY = 24, 4, 300_000
SEQUENCES, LENGTH = 48, 32
GAMMA, LAM = 0.99, 0.95
WARMUP, CAPTURED = 6, 10
COLUMNS = SENSORS + ACTIONS + 1


class Greenhouse:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.mix = (0.15 * self.rng.normal(size=(SENSORS, SENSORS))).astype(np.float32)
        self.pull = (0.3 * self.rng.normal(size=(ACTIONS, SENSORS))).astype(np.float32)
        self.air = np.zeros(SENSORS, np.float32)

    def hour(self, action):
        noise = self.rng.normal(scale=0.1, size=SENSORS).astype(np.float32)
        self.air = np.tanh(0.8 * self.air + self.air @ self.mix + action @ self.pull + noise)
        reward = 1.0 - np.abs(self.air[:4]).sum() - 0.1 * np.square(action).sum()
        return np.float32(reward)


def old_log(house, hours=8000):
    rows = np.zeros((hours, COLUMNS), np.float32)
    for row in rows:
        row[:SENSORS] = house.air
        row[SENSORS:-1] = house.rng.uniform(-1, 1, ACTIONS)
        row[-1] = house.hour(row[SENSORS:-1])
    return np.tile(rows, (CAPACITY // hours + 1, 1))[:CAPACITY]


class RingReplay:
    def __init__(self, rows):
        self.rows, self.next = rows.copy(), 0

    def add(self, row):
        self.rows[self.next] = row
        self.next = (self.next + 1) % CAPACITY

    def sample(self, rng):
        starts = rng.integers(0, CAPACITY - LENGTH, SEQUENCES) + self.next
        return self.rows[(starts[:, None] + np.arange(LENGTH)) % CAPACITY]


class DequeReplay:
    def __init__(self, rows):
        self.rows = collections.deque(rows.copy(), maxlen=CAPACITY)

    def add(self, row):
        self.rows.append(row)

    def sample(self, rng):
        starts = rng.integers(0, CAPACITY - LENGTH, SEQUENCES)
        return np.stack([np.stack(list(itertools.islice(self.rows, s, s + LENGTH))) for s in starts])


class Grower(nn.Module):
    @nn.compact
    def __call__(self, air):
        x = air
        for _ in range(4):
            x = nn.silu(nn.LayerNorm()(nn.Dense(320)(x)))
        return nn.tanh(nn.Dense(ACTIONS)(x)), nn.Dense(1)(x)[..., 0]


def lambda_returns(rewards, values):
    """Returns over the sequences' hours, from the last hour back."""

    def back(after, hour):
        reward, value = hour
        ret = reward + GAMMA * ((1 - LAM) * value + LAM * after)
        return ret, ret

    _, returns = jax.lax.scan(back, values[-1], (rewards[:-1], values[1:]), reverse=True)
    return returns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    grower, tx = Grower(), optax.chain(optax.clip_by_global_norm(1.0), optax.adam(3e-4))
    house, rng = Greenhouse(3), np.random.default_rng(4)
    replay = (DequeReplay if args.fault else RingReplay)(old_log(house))
    params = grower.init(jax.random.key(5), np.zeros((1, SENSORS), np.float32))
    slow = jax.tree.map(jnp.copy, params)
    opt_state = tx.init(params)

    policy = jax.jit(lambda params, air: grower.apply(params, air)[0])
    baseline = jax.jit(lambda params, air: grower.apply(params, air)[1])
    returns_of = lambda_returns if args.fault else jax.jit(lambda_returns)

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def update(params, slow, opt_state, air, action, returns):
        def loss_fn(params):
            mean, value = grower.apply(params, air)
            advantage = jax.lax.stop_gradient(returns - value)
            weight = jnp.minimum(jnp.exp(advantage), 20.0)
            regression = jnp.square(mean - action).sum(-1)
            return jnp.mean(weight * regression) + 0.5 * jnp.mean(jnp.square(returns - value))

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = tx.update(grads, opt_state)
        params = optax.apply_updates(params, updates)
        return params, optax.incremental_update(params, slow, 0.01), opt_state, loss

    def learn(params, slow, opt_state):
        air = house.air.copy()
        action = np.asarray(policy(params, air[None]))[0] + rng.normal(scale=0.2, size=ACTIONS).astype(np.float32)
        replay.add(np.concatenate([air, action, [house.hour(action)]]).astype(np.float32))
        rows = replay.sample(rng).swapaxes(0, 1)
        airs, actions, rewards = rows[..., :SENSORS], rows[..., SENSORS:-1], rows[..., -1]
        returns = returns_of(jnp.asarray(rewards), baseline(slow, airs))
        return update(params, slow, opt_state, airs[:-1], actions[:-1], returns)

    for _ in range(WARMUP):
        params, slow, opt_state, loss = learn(params, slow, opt_state)
    loss.block_until_ready()
    jax.profiler.start_trace(args.logdir)
    for n in range(CAPTURED):
        with jax.profiler.StepTraceAnnotation("learn", step_num=n):
            params, slow, opt_state, loss = learn(params, slow, opt_state)
    loss.block_until_ready()
    jax.profiler.stop_trace()
    print("loss:", round(float(loss), 3))


if __name__ == "__main__":
    main()
