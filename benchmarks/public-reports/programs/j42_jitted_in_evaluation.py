import os
from functools import partial

import jax
import jax.numpy as jnp
import optax

OBS, ACTIONS, HIDDEN, CLIP = 10, 4, 64, 60


class TrackingEnv:
    dt = 0.05

    def observe(self, state):
        clock = jnp.stack([jnp.sin(state["time"]), jnp.cos(state["time"])])
        return jnp.concatenate([state["angle"], state["speed"], clock])

    def reset(self, key):
        angle = 0.1 * jax.random.normal(key, (ACTIONS,))
        state = {"angle": angle, "speed": jnp.zeros(ACTIONS), "time": jnp.array(0.0)}
        return state | {"obs": self.observe(state), "reward": jnp.array(0.0)}

    def step(self, state, torque):
        speed, angle, time = state["speed"], state["angle"], state["time"]
        for _ in range(5):
            coupling = jnp.roll(angle, 1) + jnp.roll(angle, -1) - 2 * angle
            speed = speed + self.dt / 5 * (4 * torque - jnp.sin(angle) + coupling - 0.3 * speed)
            angle = angle + self.dt / 5 * speed
        state = {"angle": angle, "speed": speed, "time": time + self.dt}
        target = jnp.sin(state["time"] * jnp.arange(1, ACTIONS + 1))
        reward = jnp.exp(-jnp.sum((angle - target) ** 2))
        return state | {"obs": self.observe(state), "reward": reward}


def policy(params, obs):
    return jnp.tanh(jnp.tanh(obs @ params["in"]) @ params["out"])


env = TrackingEnv()
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))


def episode_return(params, key):
    def advance(state, _):
        state = env.step(state, policy(params, state["obs"]))
        return state, state["reward"]

    return jax.lax.scan(advance, env.reset(key), length=CLIP)[1].mean()


@jax.jit
def update(params, opt_state, key):
    def loss(w):
        return -jax.vmap(partial(episode_return, w))(jax.random.split(key, 64)).mean()

    value, grads = jax.value_and_grad(loss)(params)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, -value


def policy_params_fn(num_steps, params, key):
    rollout_env = TrackingEnv()
    jit_reset = jax.jit(rollout_env.reset)
    jit_step = jax.jit(rollout_env.step)
    jit_inference_fn = jax.jit(partial(policy, params))
    state = jit_reset(key)
    rollout = [state]
    for _ in range(CLIP):
        state = jit_step(state, jit_inference_fn(state["obs"]))
        rollout.append(state)
    rewards = jax.device_get([state["reward"] for state in rollout])
    if num_steps % 50 == 0:
        print(f"{num_steps} updates: reward {sum(rewards) / CLIP:.3f}")


def train(evaluations, updates_per_evaluation=10):
    key = jax.random.PRNGKey(0)
    params = {"in": 0.3 * jax.random.normal(key, (OBS, HIDDEN)), "out": jnp.zeros((HIDDEN, ACTIONS))}
    opt_state = optimizer.init(params)
    for evaluation in range(evaluations):
        for _ in range(updates_per_evaluation):
            key, update_key = jax.random.split(key)
            params, opt_state, reward = update(params, opt_state, update_key)
        key, rollout_key = jax.random.split(key)
        policy_params_fn(evaluation * updates_per_evaluation, params, rollout_key)


train(int(os.environ.get("STEPS", 30)))
