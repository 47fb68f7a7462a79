import os

import jax
import jax.numpy as jnp
import numpy as np

LINKS = 7


class Cheetah:
    """A chain of masses in the plane with springs, motors and a floor."""

    action_size = LINKS - 1
    time_step = 0.01
    substeps = 4

    def reset(self, rng):
        x = 0.5 * jnp.arange(LINKS)
        z = 0.6 + 0.05 * jax.random.normal(rng, (LINKS,))
        position = jnp.stack([x, z], axis=1)
        return {"position": position, "velocity": jnp.zeros_like(position)}

    def _forces(self, position, velocity, action):
        along = position[1:] - position[:-1]
        length = jnp.linalg.norm(along, axis=1, keepdims=True)
        direction = along / length
        speed = jnp.sum((velocity[1:] - velocity[:-1]) * direction, axis=1, keepdims=True)
        target = 0.5 * (1.0 + 0.3 * jnp.tanh(action)[:, None])
        pull = (200.0 * (length - target) + 2.0 * speed) * direction
        force = jnp.zeros_like(position).at[:-1].add(pull).at[1:].add(-pull)
        depth = jnp.maximum(0.1 - position[:, 1], 0.0)
        normal = 800.0 * depth - 5.0 * jnp.where(depth > 0, velocity[:, 1], 0.0)
        friction = -jnp.clip(20.0 * velocity[:, 0], -0.8 * normal, 0.8 * normal)
        force = force.at[:, 1].add(normal - 9.81).at[:, 0].add(jnp.where(depth > 0, friction, 0.0))
        return force

    def step(self, state, action):
        position, velocity = state["position"], state["velocity"]
        start = jnp.mean(position[:, 0])
        for _ in range(self.substeps):
            force = self._forces(position, velocity, action)
            velocity = 0.999 * (velocity + self.time_step / self.substeps * force)
            position = position + self.time_step / self.substeps * velocity
        forward = (jnp.mean(position[:, 0]) - start) / self.time_step
        reward = forward - 0.1 * jnp.sum(action**2)
        observation = jnp.concatenate([position.ravel(), velocity.ravel()])
        return {"position": position, "velocity": velocity}, observation, reward


@jax.jit
def policy(weights, observation, noise):
    return jnp.tanh(observation @ weights) + noise


def rollout(steps):
    env = Cheetah()
    rng = np.random.default_rng(0)
    weights = jnp.asarray(0.1 * rng.normal(size=(4 * LINKS, env.action_size)), jnp.float32)
    observation, returned = jnp.zeros(4 * LINKS), 0.0
    for number in range(steps):
        if number % 200 == 0:
            state = env.reset(jax.random.PRNGKey(number))
        noise = rng.normal(0, 0.3, env.action_size).astype(np.float32)
        action = policy(weights, observation, noise)
        state, observation, reward = env.step(state, action)
        returned += float(reward)
        if number % 200 == 0:
            print(number, returned)


rollout(int(os.environ.get("STEPS", 1200)))
