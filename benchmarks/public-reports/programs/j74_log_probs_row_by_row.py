import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

ENVS, TIME_STEPS, ACTIONS, OBS = 32, 60, 3, 6


class Acrobots:
    def __init__(self, rng):
        self.rng, self.state = rng, rng.normal(0, 0.1, (ENVS, 4))

    def observations(self):
        a, b, da, db = self.state.T
        return np.stack([np.cos(a), np.sin(a), np.cos(b), np.sin(b), da, db], axis=1).astype(np.float32)

    def step(self, actions):
        a, b, da, db = self.state.T
        for _ in range(4):
            da = da - 0.05 * (np.sin(a) + 0.5 * np.sin(a + b) + 0.5 * (actions - 1.0))
            db = db + 0.05 * (actions - 1.0 - np.sin(a + b))
            a, b = a + 0.05 * da, b + 0.05 * db
        self.state = np.stack([a, b, np.clip(da, -6, 6), np.clip(db, -9, 9)], axis=1)
        height = -np.cos(a) - np.cos(a + b)
        self.state[height > 1.0] = self.rng.normal(0, 0.1, ((height > 1.0).sum(), 4))
        return self.observations(), height - 2.0, height > 1.0


def info_at_index(info, index):
    return {name: values[index] for name, values in info.items()}


def collect(env, params, rng):
    trajectories, observations = [[] for _ in range(ENVS)], env.observations()
    for _ in range(TIME_STEPS):
        log_probs, values = policy_apply(params, observations)
        info = {"log_prob_actions": log_probs, "value_predictions": values}
        actions = np.argmax(np.asarray(log_probs) + rng.gumbel(size=(ENVS, ACTIONS)), axis=1)
        step = {"observation": observations, "action": actions, **info}
        observations, step["reward"], step["done"] = env.step(actions)
        for index, trajectory in enumerate(trajectories):
            trajectory.append(info_at_index(step, index))
    return [{name: np.array([step[name] for step in t]) for name in t[0]} for t in trajectories]


def policy_and_value(params, observations):
    hidden = jnp.tanh(observations @ params["w1"] + params["b1"])
    return jax.nn.log_softmax(hidden @ params["policy"]), (hidden @ params["value"])[..., 0]


def loss_fn(params, batch):
    log_probs, values = policy_and_value(params, batch["observation"])
    change = jnp.take_along_axis(log_probs - batch["log_prob_actions"], batch["action"][..., None], -1)[..., 0]
    gain, ratio = batch["returns"] - batch["value_predictions"], jnp.exp(change)
    return jnp.mean((values - batch["returns"]) ** 2 - jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain))


@jax.jit
def train_step(params, opt_state, batch):
    updates, opt_state = optimizer.update(jax.grad(loss_fn)(params, batch), opt_state)
    return optax.apply_updates(params, updates), opt_state


policy_apply, rng = jax.jit(policy_and_value), np.random.default_rng(0)
shapes = {"w1": (OBS, 64), "b1": (64,), "policy": (64, ACTIONS), "value": (64, 1)}
params = {name: jnp.asarray(0.2 * rng.normal(size=shape), jnp.float32) for name, shape in shapes.items()}
optimizer, env = optax.adam(1e-3), Acrobots(rng)
opt_state = optimizer.init(params)
for epoch in range(int(os.environ.get("STEPS", 27))):
    trajectories = collect(env, params, rng)
    batch = {name: np.stack([t[name] for t in trajectories]) for name in trajectories[0]}
    batch["returns"], last = np.zeros_like(batch["reward"]), batch["value_predictions"][:, -1]
    for t in reversed(range(TIME_STEPS)):
        batch["returns"][:, t] = last = batch["reward"][:, t] + 0.97 * last * ~batch["done"][:, t]
    for _ in range(20):
        params, opt_state = train_step(params, opt_state, batch)
    if epoch % 5 == 0:
        print(f"epoch {epoch}: reward {batch['reward'].mean():.3f}", flush=True)
