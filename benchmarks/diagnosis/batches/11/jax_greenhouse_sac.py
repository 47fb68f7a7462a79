"""Soft actor-critic for the climate of a greenhouse: simulator, replay memory and learner all in JAX."""
import argparse
import logging
from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

log = logging.getLogger("greenhouse")
HOUSES, TICKS, OBS, ACT, CAPACITY, BATCH, UPDATES = 16, 48, 28, 4, 400_000, 256, 4


class Actor(nn.Module):
    @nn.compact
    def __call__(self, obs):
        x = nn.relu(nn.Dense(256)(nn.relu(nn.Dense(256)(obs))))
        return nn.Dense(ACT)(x), jnp.clip(nn.Dense(ACT)(x), -5.0, 1.0)


class Critics(nn.Module):
    @nn.compact
    def __call__(self, obs, act):
        x = jnp.concatenate([obs, act], axis=-1)
        twin = nn.vmap(nn.Dense, in_axes=0, out_axes=0, axis_size=2, variable_axes={"params": 0}, split_rngs={"params": True})
        x = nn.relu(twin(256)(jnp.broadcast_to(x, (2, *x.shape))))
        return twin(1)(nn.relu(twin(256)(x)))[..., 0]


def sample_action(params, obs, key):
    mean, log_std = Actor().apply(params, obs)
    raw = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
    act = jnp.tanh(raw)
    log_prob = -0.5 * ((raw - mean) / jnp.exp(log_std)) ** 2 - log_std - 0.919 - jnp.log(1 - act**2 + 1e-6)
    return act, log_prob.sum(-1)


def climate(obs, act, key):
    heat = jnp.roll(obs, 1, axis=-1) * 0.05 + obs * 0.93
    heat = heat.at[:, :ACT].add(0.4 * act) + 0.05 * jax.random.normal(key, obs.shape)
    return heat, -jnp.square(heat[:, :8] - 0.5).mean(-1) - 0.02 * jnp.square(act).sum(-1)


def log_tick(tick, reward):
    log.debug("tick %d: mean reward %.3f", tick, reward)


@partial(jax.jit, static_argnames="verbose")
def collect(actor, obs, key, verbose):
    def tick(obs, inputs):
        number, key = inputs
        act_key, air_key = jax.random.split(key)
        act, _ = sample_action(actor, obs, act_key)
        after, reward = climate(obs, act, air_key)
        if verbose:
            jax.debug.callback(log_tick, number, reward.mean())
        return after, {"obs": obs, "act": act, "reward": reward, "next": after}

    obs, seen = jax.lax.scan(tick, obs, (jnp.arange(TICKS), jax.random.split(key, TICKS)))
    return obs, jax.tree.map(lambda x: x.reshape(TICKS * HOUSES, *x.shape[2:]), seen)


def remember(memory, position, seen):
    rows = (position + jnp.arange(TICKS * HOUSES)) % CAPACITY
    return jax.tree.map(lambda stored, new: stored.at[rows].set(new), memory, seen), position + TICKS * HOUSES


optimizer = optax.adam(3e-4)


@partial(jax.jit, donate_argnums=0)
def learn(agent, memory, filled, key):
    def update(agent, key):
        row_key, next_key, act_key = jax.random.split(key, 3)
        rows = jax.random.randint(row_key, (BATCH,), 0, jnp.minimum(filled, CAPACITY))
        batch = jax.tree.map(lambda stored: stored[rows], memory)
        next_act, next_log_prob = sample_action(agent["actor"], batch["next"], next_key)
        value = Critics().apply(agent["target"], batch["next"], next_act).min(0) - 0.1 * next_log_prob
        goal = batch["reward"] + 0.98 * value

        def critic_loss(params):
            return jnp.square(Critics().apply(params, batch["obs"], batch["act"]) - goal).mean()

        def actor_loss(params):
            act, log_prob = sample_action(params, batch["obs"], act_key)
            return (0.1 * log_prob - Critics().apply(agent["critics"], batch["obs"], act).min(0)).mean()

        new = dict(agent)
        for name, loss_fn in (("critics", critic_loss), ("actor", actor_loss)):
            loss, grads = jax.value_and_grad(loss_fn)(agent[name])
            change, new[f"{name}_opt"] = optimizer.update(grads, agent[f"{name}_opt"])
            new[name] = optax.apply_updates(agent[name], change)
        new["target"] = optax.incremental_update(new["critics"], agent["target"], 0.005)
        return new, loss

    agent, losses = jax.lax.scan(update, agent, jax.random.split(key, UPDATES))
    return agent, losses.mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)

    key = jax.random.PRNGKey(0)
    obs = jax.random.normal(key, (HOUSES, OBS))
    actor = Actor().init(key, obs)
    critics = Critics().init(key, obs, jnp.zeros((HOUSES, ACT)))
    agent = {"actor": actor, "critics": critics, "target": jax.tree.map(jnp.copy, critics),
             "actor_opt": optimizer.init(actor), "critics_opt": optimizer.init(critics)}
    memory = {"obs": jnp.zeros((CAPACITY, OBS)), "act": jnp.zeros((CAPACITY, ACT)), "reward": jnp.zeros(CAPACITY),
              "next": jnp.zeros((CAPACITY, OBS))}
    position = jnp.int32(0)
    store = jax.jit(remember) if args.fault else jax.jit(remember, donate_argnums=0)

    for iteration in range(20):
        if iteration == 8:
            jax.block_until_ready(agent)
            jax.profiler.start_trace(args.logdir)
        with jax.profiler.StepTraceAnnotation("iteration", step_num=iteration):
            key, act_key, learn_key = jax.random.split(key, 3)
            obs, seen = collect(agent["actor"], obs, act_key, verbose=args.fault)
            memory, position = store(memory, position, seen)
            agent, loss = learn(agent, memory, position, learn_key)
    jax.block_until_ready(agent)
    jax.profiler.stop_trace()
    print(f"actor loss {float(loss):.3f}, {int(position)} transitions")


if __name__ == "__main__":
    main()
