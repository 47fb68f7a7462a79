import os

import jax
import jax.numpy as jnp
import optax

ENVS, LEGS, HORIZON, EPOCHS, MINIBATCHES = 16, 4, 128, 4, 8


def observe(state):
    return jnp.concatenate([state["angle"], state["rate"], state["body"]], axis=-1)


@jax.jit
def env_step(state, action):
    rate = state["rate"] + 0.05 * (5.0 * jnp.tanh(action) - 8.0 * state["angle"] - state["rate"])
    angle = state["angle"] + 0.05 * rate
    thrust, tilt = jnp.sum(jnp.maximum(-rate, 0.0) * jnp.cos(angle), axis=-1), jnp.mean(angle[:, ::2] - angle[:, 1::2], axis=-1)
    body = 0.95 * state["body"] + 0.05 * jnp.stack([thrust, tilt, jnp.mean(jnp.abs(angle), axis=-1)], axis=-1)
    done = (jnp.abs(body[:, 1]) > 0.5) | (state["time"][:, 0] >= 249)
    reward = body[:, 0] - 0.02 * jnp.sum(action**2, axis=-1) - jnp.abs(body[:, 1])
    new = {"angle": angle, "rate": rate, "body": body, "time": state["time"] + 1}
    return {k: jnp.where(done[:, None], 0.0, v) for k, v in new.items()}, reward, done


def network(params, obs):
    h = jnp.tanh(jnp.tanh(obs @ params["w1"]) @ params["w2"])
    return h @ params["actor"], (h @ params["critic"])[..., 0]


def log_prob(params, mean, action):
    return -0.5 * jnp.sum(((action - mean) / jnp.exp(params["log_std"])) ** 2, axis=-1) - jnp.sum(params["log_std"])


@jax.jit
def act(params, obs, key):
    mean, value = network(params, obs)
    action = mean + jnp.exp(params["log_std"]) * jax.random.normal(key, mean.shape)
    return action, log_prob(params, mean, action), value


@jax.jit
def advantages(reward, done, value, last):
    delta = reward + 0.99 * jnp.concatenate([value[1:], last[None]]) * ~done - value
    return jax.lax.scan(lambda a, x: ((x[0] + 0.94 * ~x[1] * a,) * 2), jnp.zeros(ENVS), (delta, done), reverse=True)[1]


def loss_fn(params, batch):
    (mean, value), adv = network(params, batch["obs"]), batch["adv"]
    ratio = jnp.exp(log_prob(params, mean, batch["action"]) - batch["logp"])
    return jnp.mean(0.5 * (value - adv - batch["value"]) ** 2 - jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv))


@jax.jit
def ppo_step(params, opt_state, batch):
    updates, opt_state = optimizer.update(jax.grad(loss_fn)(params, batch), opt_state)
    return optax.apply_updates(params, updates), opt_state


k = jax.random.split(jax.random.PRNGKey(0), 5)
params = {"w1": 0.3 * jax.random.normal(k[0], (2 * LEGS + 3, 32)), "w2": 0.2 * jax.random.normal(k[1], (32, 32)), "log_std": jnp.full(LEGS, -0.5),
          "actor": 0.01 * jax.random.normal(k[2], (32, LEGS)), "critic": 0.1 * jax.random.normal(k[3], (32, 1))}
optimizer = optax.adam(3e-4)
opt_state, state = optimizer.init(params), {name: jnp.zeros((ENVS, n)) for name, n in [("angle", LEGS), ("rate", LEGS), ("body", 3), ("time", 1)]}
for iteration in range(int(os.environ.get("STEPS", 60))):
    key, steps = jax.random.fold_in(k[4], iteration), []
    for _ in range(HORIZON):
        key, subkey = jax.random.split(key)
        obs = observe(state)
        action, logp, value = act(params, obs, subkey)
        state, reward, done = env_step(state, action)
        steps.append({"obs": obs, "action": action, "logp": logp, "value": value, "reward": reward, "done": done})
    rollout = {name: jnp.stack([step[name] for step in steps]) for name in steps[0]}
    rollout["adv"] = advantages(rollout["reward"], rollout["done"], rollout["value"], act(params, observe(state), key)[2])
    flat = {name: v.reshape(HORIZON * ENVS, *v.shape[2:]) for name, v in rollout.items()}
    for epoch_key in jax.random.split(key, EPOCHS):
        for rows in jnp.split(jax.random.permutation(epoch_key, HORIZON * ENVS), MINIBATCHES):
            params, opt_state = ppo_step(params, opt_state, {name: v[rows] for name, v in flat.items()})
    if iteration % 5 == 0:
        print(f"iteration {iteration}: reward {float(rollout['reward'].mean()):.3f}", flush=True)
