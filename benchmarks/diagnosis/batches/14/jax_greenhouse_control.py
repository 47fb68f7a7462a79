"""Actor and critic for the climate of a greenhouse: vents, heating, mist and screens of eight bays of tomatoes."""
import argparse
from collections import deque
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

BAYS, TICKS = 8, 16
STATE, ACTION = 32, 4
WIDTH = 448
BATCH = 128
GAMMA = 0.98
FIELDS = ("state", "action", "reward", "done", "after")


def tick(state, action, key):
    """Heat, moisture and leaf growth in one bay, on hidden drifts of the weather."""
    weather = 0.97 * state[:12] + 0.1 * jax.random.normal(key, (12,))
    inside = state[12:]
    push = jnp.tile(action, 5)
    inside = 0.9 * inside + 0.1 * jnp.tanh(push + jnp.tile(weather[:4], 5))
    reward = -jnp.mean((inside[:10] - 0.2) ** 2) - 0.02 * jnp.sum(action**2)
    done = (jnp.abs(inside[0]) > 0.95).astype(jnp.float32)
    return jnp.concatenate([weather, inside]), reward, done


@eqx.filter_jit
def rollout(actor, start, key):
    def one(state, key):
        k1, k2 = jax.random.split(key)
        action = jnp.tanh(jax.vmap(actor)(state) + 0.1 * jax.random.normal(k1, (BAYS, ACTION)))
        after, reward, done = jax.vmap(tick)(state, action, jax.random.split(k2, BAYS))
        return after, (state, action, reward, done, after)

    last, run = jax.lax.scan(one, start, jax.random.split(key, TICKS))
    return last, dict(zip(FIELDS, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), run)))


class ArrayMemory:
    def __init__(self, size):
        self.size, self.rows, self.at = size, None, 0

    def add(self, run):
        run = jax.device_get(run)
        if self.rows is None:
            self.rows = {f: np.zeros((self.size, *x.shape[1:]), x.dtype) for f, x in run.items()}
        where = (self.at + np.arange(BAYS)) % self.size
        for f, x in run.items():
            self.rows[f][where] = x
        self.at += BAYS

    def draw(self, rng):
        i = rng.integers(0, min(self.at, self.size), BATCH)
        return {f: x[i] for f, x in self.rows.items()}


class RunMemory:
    def __init__(self, size):
        self.runs = deque(maxlen=size // BAYS)

    def add(self, run):
        self.runs.append(run)

    def draw(self, rng):
        drawn = [divmod(int(i), BAYS) for i in rng.integers(0, BAYS * len(self.runs), BATCH)]
        return {f: jnp.stack([self.runs[r][f][b] for r, b in drawn]) for f in FIELDS}


def discounted(reward, done, final, gamma):
    """Returns to go of each tick, with the critic's value after the last one."""

    def back(ahead, now):
        r, d = now
        ahead = r + gamma * (1 - d) * ahead
        return ahead, ahead

    _, returns = jax.lax.scan(back, final, (reward.T, done.T), reverse=True)
    return returns.T


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    rng = np.random.default_rng(6)
    keys = iter(jax.random.split(jax.random.key(6), 400))

    actor = eqx.nn.MLP(STATE, ACTION, WIDTH // 2, 2, key=next(keys))
    critic = eqx.nn.MLP(STATE + ACTION, 1, WIDTH, 3, key=next(keys))
    tx = optax.adam(3e-4)
    opts = tx.init(eqx.filter(actor, eqx.is_array)), tx.init(eqx.filter(critic, eqx.is_array))
    returns_to_go = partial(discounted if args.fault else jax.jit(discounted), gamma=GAMMA)

    def values(critic, state, action):
        return jax.vmap(critic)(jnp.concatenate([state, action], -1).reshape(-1, STATE + ACTION))[:, 0]

    @eqx.filter_jit
    def final_value(actor, critic, after):
        return values(critic, after, jnp.tanh(jax.vmap(actor)(after)))

    @eqx.filter_jit
    def learn(actor, critic, opts, batch, returns):
        def critic_loss(critic):
            return jnp.mean((values(critic, batch["state"], batch["action"]) - returns.reshape(-1)) ** 2)

        def actor_loss(actor, critic):
            flat = batch["state"][:, ::4].reshape(-1, STATE)
            return -jnp.mean(values(critic, flat, jnp.tanh(jax.vmap(actor)(flat))))

        loss, g = eqx.filter_value_and_grad(critic_loss)(critic)
        up, critic_opt = tx.update(g, opts[1])
        critic = eqx.apply_updates(critic, up)
        up, actor_opt = tx.update(eqx.filter_grad(actor_loss)(actor, critic), opts[0])
        return eqx.apply_updates(actor, up), critic, (actor_opt, critic_opt), loss

    memory = (RunMemory if args.fault else ArrayMemory)(1024)
    state = 0.1 * jax.random.normal(next(keys), (BAYS, STATE))
    for _ in range(32):
        state, run = rollout(actor, state, next(keys))
        memory.add(run)

    def iteration(actor, critic, opts, state):
        state, run = rollout(actor, state, next(keys))
        memory.add(run)
        batch = memory.draw(rng)
        returns = returns_to_go(batch["reward"], batch["done"], final_value(actor, critic, batch["after"][:, -1]))
        actor, critic, opts, loss = learn(actor, critic, opts, batch, returns)
        return (actor, critic, opts, state), float(loss)

    everything = actor, critic, opts, state
    for _ in range(7):
        everything, loss = iteration(*everything)
    jax.profiler.start_trace(args.logdir)
    for step in range(7, 17):
        with jax.profiler.StepTraceAnnotation("iteration", step_num=step):
            everything, loss = iteration(*everything)
    jax.profiler.stop_trace()
    print(f"critic loss {loss:.4f}")


if __name__ == "__main__":
    main()
