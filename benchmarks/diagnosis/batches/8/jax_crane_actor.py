"""Off-policy control of a gantry crane: an actor thread talks to the simulator, the main thread learns."""

import argparse
import functools
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

OBS, ACT = 6, 1
CHUNK = 72
TICK = 0.002
BATCH = 512
HIDDEN = 512


class CraneSimulator:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.reset()

    def reset(self):
        self.state = self.rng.normal(0, 0.3, 4)
        self.goal = self.rng.uniform(-2, 2)

    def observe(self):
        return np.array([*self.state, self.goal, self.goal - self.state[0]], np.float32)

    def command(self, force):
        time.sleep(TICK)
        x, v, angle, spin = self.state
        v += 0.05 * (5.0 * force - 0.4 * v)
        spin += 0.05 * (-9.81 * np.sin(angle) - 5.0 * force * np.cos(angle) - 0.1 * spin)
        self.state = np.array([x + 0.05 * v, v, angle + 0.05 * spin, spin])
        return -abs(self.goal - self.state[0]) - 0.5 * angle**2


class Replay:
    def __init__(self, capacity):
        self.lock = threading.Lock()
        self.obs = np.zeros((capacity, OBS), np.float32)
        self.act = np.zeros((capacity, ACT), np.float32)
        self.rew = np.zeros(capacity, np.float32)
        self.nxt = np.zeros((capacity, OBS), np.float32)
        self.capacity, self.size, self.head = capacity, 0, 0

    def add(self, chunk):
        for obs, act, rew, nxt in chunk:
            i = self.head
            self.obs[i], self.act[i], self.rew[i], self.nxt[i] = obs, act, rew, nxt
            self.head = (i + 1) % self.capacity
            self.size = min(self.size + 1, self.capacity)

    def sample(self, rng, count):
        with self.lock:
            rows = rng.integers(0, self.size, count)
            return self.obs[rows], self.act[rows], self.rew[rows], self.nxt[rows]


class Actor(threading.Thread):
    def __init__(self, replay, hold):
        super().__init__(name="actor", daemon=True)
        self.replay, self.hold = replay, hold
        self.simulator = CraneSimulator(1)
        self.rng = np.random.default_rng(2)
        self.weights = None
        self.done = threading.Event()

    def policy(self, obs):
        if self.weights is None:
            return self.rng.uniform(-1, 1, ACT)
        for w, b in self.weights[:-1]:
            obs = np.maximum(obs @ w + b, 0)
        w, b = self.weights[-1]
        return np.clip(np.tanh(obs @ w + b) + self.rng.normal(0, 0.1, ACT), -1, 1)

    def rollout(self):
        obs = self.simulator.observe()
        for _ in range(CHUNK):
            act = self.policy(obs)
            reward = self.simulator.command(float(act[0]))
            nxt = self.simulator.observe()
            yield obs, act, reward, nxt
            obs = nxt

    def run(self):
        while not self.done.is_set():
            if self.hold:
                with self.replay.lock:
                    self.replay.add(self.rollout())
            else:
                chunk = list(self.rollout())
                with self.replay.lock:
                    self.replay.add(chunk)
            self.simulator.reset()
            time.sleep(0.012)


def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (m, n)) * jnp.sqrt(2 / m), jnp.zeros(n)) for k, m, n in zip(keys, sizes, sizes[1:])]


def mlp(layers, x):
    for w, b in layers[:-1]:
        x = jax.nn.relu(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]


def critic(params, obs, act):
    x = jnp.concatenate([obs, act], -1)
    return jax.vmap(mlp, in_axes=(0, None))(params, x)[..., 0]


tx = optax.adam(3e-4)


@functools.partial(jax.jit, donate_argnums=(0, 1))
def learn(nets, opt_state, obs, act, rew, nxt):
    future = jnp.tanh(mlp(nets["target"]["actor"], nxt))
    value = rew + 0.98 * critic(nets["target"]["critic"], nxt, future).min(axis=0)

    def loss_fn(live):
        error = critic(live["critic"], obs, act) - value
        frozen = jax.lax.stop_gradient(live["critic"])
        gain = critic(frozen, obs, jnp.tanh(mlp(live["actor"], obs)))[0]
        return jnp.mean(jnp.square(error)) - jnp.mean(gain)

    loss, grads = jax.value_and_grad(loss_fn)(nets["live"])
    updates, opt_state = tx.update(grads, opt_state)
    live = optax.apply_updates(nets["live"], updates)
    target = optax.incremental_update(live, nets["target"], 0.005)
    return {"live": live, "target": target}, opt_state, loss


def main(logdir, fault):
    replay, rng = Replay(100_000), np.random.default_rng(0)
    replay.add(Actor(replay, False).rollout())
    a, c = jax.random.split(jax.random.key(0))
    make_critic = functools.partial(init, sizes=(OBS + ACT, HIDDEN, HIDDEN, 1))
    live = {"actor": init(a, (OBS, 128, 128, ACT)), "critic": jax.vmap(make_critic)(jax.random.split(c, 4))}
    nets, opt_state = {"live": live, "target": jax.tree.map(jnp.copy, live)}, tx.init(live)
    actor = Actor(replay, hold=fault)
    actor.start()
    for step in range(22):
        if step == 10:
            jax.profiler.start_trace(logdir)
        nets, opt_state, loss = learn(nets, opt_state, *replay.sample(rng, BATCH))
        loss.block_until_ready()
        if step == 5:
            actor.weights = jax.tree.map(np.array, nets["live"]["actor"])
    jax.profiler.stop_trace()
    actor.done.set()
    actor.join()
    print("transitions", replay.size, "loss", float(loss))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    main(**vars(parser.parse_args()))
