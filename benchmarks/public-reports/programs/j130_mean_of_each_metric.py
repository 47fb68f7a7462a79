import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

ENVS, JOINTS, HORIZON, HIDDEN, DT, LOG_EVERY = 128, 8, 8, 64, 0.1, 100
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))


def reset(key):
    still = jnp.zeros((ENVS, JOINTS))
    return still, still, jax.random.uniform(key, (ENVS, JOINTS), minval=-1.5, maxval=1.5)


def env_step(state, action):
    q, qd, goal = state
    torque = 2.0 * jnp.tanh(action)
    qd = 0.95 * qd + DT * (torque - 0.5 * jnp.sin(q))
    q = q + DT * qd
    error = jnp.abs(q - goal)
    terms = {"reach": -jnp.sum(error, -1), "effort": -0.01 * jnp.sum(torque**2, -1), "speed": -0.02 * jnp.sum(qd**2, -1)}
    metrics = {f"reward/{name}": term for name, term in terms.items()}
    each = {"torque": torque, "velocity": qd, "power": jnp.abs(torque * qd), "error": error, "reached": error < 0.1}
    metrics |= {f"joint{j}/{name}": value[:, j] for name, value in each.items() for j in range(JOINTS)}
    return (q, qd, goal), sum(terms.values()), metrics


def policy(params, state):
    hidden = jnp.tanh(jnp.concatenate(state, -1) @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


@jax.jit
def update(params, opt_state, state, key):
    def loss_fn(params):
        def act(state, _):
            state, reward, metrics = env_step(state, policy(params, state))
            return state, (reward, metrics)

        following, (rewards, metrics) = jax.lax.scan(act, state, None, length=HORIZON)
        return -rewards.mean(), (following, metrics)

    grads, (state, metrics) = jax.grad(loss_fn, has_aux=True)(params)
    updates, opt_state = optimizer.update(grads, opt_state)
    renewed = jax.random.bernoulli(key, 0.05, (ENVS, 1))
    state = tuple(jnp.where(renewed, new, old) for new, old in zip(reset(key), state))
    return optax.apply_updates(params, updates), opt_state, state, metrics


class MetricCollector:
    def __init__(self):
        self.names, self.total, self.weight = None, 0.0, 0.0

    def add(self, metrics, weight=1.0):
        self.names = sorted(metrics)
        values = [jnp.mean(jnp.asarray(metrics[name], jnp.float32)) for name in self.names]
        self.total, self.weight = self.total + weight * jnp.stack(values), self.weight + weight

    def flush(self):
        means, self.total, self.weight = np.asarray(self.total) / self.weight, 0.0, 0.0
        return dict(zip(self.names, means.tolist()))


def train(iterations):
    k1, k2 = jax.random.split(jax.random.key(0))
    params = {"w1": 0.2 * jax.random.normal(k1, (3 * JOINTS, HIDDEN)), "b1": jnp.zeros(HIDDEN)}
    params |= {"w2": 0.1 * jax.random.normal(k2, (HIDDEN, JOINTS)), "b2": jnp.zeros(JOINTS)}
    opt_state, state, collector = optimizer.init(params), reset(jax.random.key(1)), MetricCollector()
    for iteration in range(iterations):
        params, opt_state, state, metrics = update(params, opt_state, state, jax.random.key(iteration))
        collector.add(metrics)
        if iteration % LOG_EVERY == 0:
            means = collector.flush()
            print(f"iteration {iteration}, reach {means['reward/reach']:.3f}, power {means['joint0/power']:.3f}", flush=True)


train(int(os.environ.get("STEPS", 2200)))
