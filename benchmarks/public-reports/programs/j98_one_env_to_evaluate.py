import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

WORKERS, BATCH, GAMMA, EVAL_FREQ, EVAL_EPS = 16, 64, 0.98, 100, 20


class CartPole:
    """Vectorized environment, restarts the workers whose episode is over."""

    def __init__(self, worker, seed):
        self.rng, self.state, self.count = np.random.default_rng(seed), np.zeros((worker, 4)), np.zeros(worker, int)
        self.restart(np.ones(worker, bool))

    def restart(self, over):
        self.state[over], self.count[over] = self.rng.uniform(-0.05, 0.05, (over.sum(), 4)), 0

    def obs(self):
        return self.state.astype("float32")

    def step(self, action):
        x, v, a, w = self.state.T
        temp = (10.0 * (2 * action - 1) + 0.05 * w**2 * np.sin(a)) / 1.1
        wacc = (9.8 * np.sin(a) - np.cos(a) * temp) / (0.5 * (4 / 3 - 0.1 * np.cos(a) ** 2 / 1.1))
        self.state = self.state + 0.02 * np.stack([v, temp - 0.05 * wacc * np.cos(a) / 1.1, w, wacc], -1)
        self.count += 1
        terminal = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 0.21)
        following, over = self.obs(), terminal | (self.count >= 200)
        self.restart(over)
        return following, np.ones(len(over), "float32"), terminal, over


def q_values(params, obs):
    (w1, b1), (w2, b2), (w3, b3) = params
    return jax.nn.relu(jax.nn.relu(obs @ w1 + b1) @ w2 + b2) @ w3 + b3


get_actions = jax.jit(lambda params, obs: q_values(params, obs).argmax(-1))
tx = optax.adam(1e-3)


@jax.jit
def train_step(params, target, opt_state, obs, action, reward, following, terminal):
    goal = reward + GAMMA * (1 - terminal) * q_values(target, following).max(-1)
    loss_fn = lambda p: optax.huber_loss(jnp.take_along_axis(q_values(p, obs), action[:, None], 1)[:, 0], goal).mean()
    updates, opt_state = tx.update(jax.grad(loss_fn)(params), opt_state)
    params = optax.apply_updates(params, updates)
    return params, optax.incremental_update(params, target, 0.01), opt_state


def evaluate(params, env):
    rewards = []
    for _ in range(EVAL_EPS):
        obs, total, over = env.obs(), 0.0, False
        while not over:
            _, reward, _, (over,) = env.step(np.asarray(get_actions(params, obs)))
            obs, total = env.obs(), total + reward[0]
        rewards.append(total)
    return np.mean(rewards)


def learn(total_steps, rng=np.random.default_rng(0), key=jax.random.key(0)):
    sizes = zip(jax.random.split(key, 3), (4, 64, 64), (64, 64, 2))
    params = [(jax.random.normal(k, (i, o)) * (2 / i) ** 0.5, jnp.zeros(o)) for k, i, o in sizes]
    env, eval_env, target, opt_state, replay = CartPole(WORKERS, 1), CartPole(1, 2), params, tx.init(params), []
    for t in range(1, total_steps + 1):
        obs, explore = env.obs(), rng.random(WORKERS) < max(0.05, 1 - t / 1000)
        action = np.where(explore, rng.integers(0, 2, WORKERS), np.asarray(get_actions(params, obs)))
        following, reward, terminal, _ = env.step(action)
        replay = replay[-2000:] + [(obs, action, reward, following, terminal)]
        picked = [replay[i] for i in rng.integers(0, len(replay), BATCH // WORKERS)]
        params, target, opt_state = train_step(params, target, opt_state, *(np.concatenate(x) for x in zip(*picked)))
        if t % EVAL_FREQ == 0:
            print(t, "eval/episode_reward", evaluate(params, eval_env), flush=True)


learn(int(os.environ.get("STEPS", 3000)))
