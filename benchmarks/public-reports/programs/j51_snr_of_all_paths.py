import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

NODES, K, LINKS, SLOTS, ROLLOUT = 14, 5, 44, 100, 16
PATHS = K * NODES * (NODES - 1)


def make_topology(rng):
    table = np.zeros((PATHS, LINKS), np.float32)
    for path in table:
        path[rng.choice(LINKS, int(rng.integers(1, 7)), replace=False)] = 1
    return jnp.asarray(table)


def link_snr(power):
    neighbours = jnp.pad(power, ((0, 0), (1, 1)))
    crosstalk = 0.01 * (neighbours[:, :-2] + neighbours[:, 2:]) ** 2
    return 1 / (0.01 + crosstalk + 0.01 * power)


def snr_for_path(path, snr):
    nsr = jnp.where(path[:, None] == 1, 1 / snr, 0.0)
    roadm = 0.002 * (jnp.sum(path) + 1)
    return 1 / (jnp.sum(nsr, axis=0) + roadm)


def lightpath_snr(paths, snr):
    return jax.vmap(snr_for_path, in_axes=(0, None))(paths, snr)


def observe(paths, state, request):
    snr = lightpath_snr(paths, link_snr(state["power"]))
    rows = jax.lax.dynamic_slice(paths, (request * K, 0), (K, LINKS))
    busy = rows @ (state["left"] > 0).astype(jnp.float32) > 0
    own = jax.lax.dynamic_slice(snr, (request * K, 0), (K, SLOTS))
    usable = (~busy) & (own > 3.0)
    first = jnp.argmax(usable, axis=1)
    features = jnp.stack([usable.mean(1), usable.any(1), first / SLOTS, jnp.log(own).mean(1)], axis=1)
    return features, usable.any(1), rows, first, jnp.mean(jnp.log2(1 + snr))


def env_step(paths, params, state, key):
    of_request, of_action, of_time = jax.random.split(key, 3)
    request = jax.random.randint(of_request, (), 0, NODES * (NODES - 1))
    features, allowed, rows, first, capacity = observe(paths, state, request)
    scores = jnp.tanh(features @ params["in"]) @ params["out"]
    logits = jnp.where(allowed, scores[:, 0], -1e9)
    action = jax.random.categorical(of_action, logits)
    slot = jax.nn.one_hot(first[action], SLOTS)
    where = rows[action][:, None] * slot * allowed[action]
    hold = jnp.ceil(60 * jax.random.exponential(of_time))
    left = jnp.maximum(state["left"] - 1, 0) + where * hold
    power = (left > 0).astype(jnp.float32)
    reward = allowed[action] + 0.05 * capacity
    return {"left": left, "power": power}, (features, allowed, action, reward)


def loss_fn(params, features, allowed, action, reward):
    scores = (jnp.tanh(features @ params["in"]) @ params["out"])[..., 0]
    log_probs = jax.nn.log_softmax(jnp.where(allowed, scores, -1e9))
    chosen = jnp.take_along_axis(log_probs, action[:, None], axis=1)[:, 0]
    return -jnp.mean(chosen * (reward - reward.mean()))


optimizer = optax.adam(3e-4)


@jax.jit
def update(paths, params, opt_state, state, key):
    keys = jax.random.split(key, ROLLOUT)
    state, batch = jax.lax.scan(lambda s, k: env_step(paths, params, s, k), state, keys)
    grads = jax.grad(loss_fn)(params, *batch)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, state, batch[-1].mean()


def train(steps):
    paths = make_topology(np.random.default_rng(0))
    one, two = jax.random.split(jax.random.key(0))
    params = {"in": 0.5 * jax.random.normal(one, (4, 64)), "out": 0.1 * jax.random.normal(two, (64, 1))}
    opt_state = optimizer.init(params)
    state = {"left": jnp.zeros((LINKS, SLOTS)), "power": jnp.zeros((LINKS, SLOTS))}
    key = jax.random.key(1)
    for step in range(steps):
        key, own = jax.random.split(key)
        params, opt_state, state, reward = update(paths, params, opt_state, state, own)
        if step % 40 == 0:
            print(step, float(reward), float((state["left"] > 0).mean()), flush=True)
    print(float(reward))


train(int(os.environ.get("STEPS", 360)))
