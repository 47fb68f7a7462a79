import os

import jax
import jax.numpy as jnp
import numpy as np

BODIES, SUBSTEPS, DT = 9, 4, 0.005


def contact_forces(position, velocity):
    depth = jnp.maximum(0.05 - position[:, 2], 0.0)
    normal = 2000.0 * depth - 20.0 * velocity[:, 2] * (depth > 0)
    friction = -0.8 * normal[:, None] * jnp.tanh(10.0 * velocity[:, :2])
    return jnp.concatenate([friction, normal[:, None]], axis=1)


def joint_forces(position, velocity, action):
    along = position[1:] - position[:-1]
    length = jnp.linalg.norm(along, axis=1, keepdims=True)
    direction = along / length
    pull = 800.0 * (length - 0.3) + action[:, None]
    damping = 5.0 * jnp.sum((velocity[1:] - velocity[:-1]) * direction, axis=1, keepdims=True)
    force = (pull + damping) * direction
    return jnp.pad(force, ((0, 1), (0, 0))) - jnp.pad(force, ((1, 0), (0, 0)))


def step(state, action):
    position, velocity = state
    for _ in range(SUBSTEPS):
        force = contact_forces(position, velocity) + joint_forces(position, velocity, action)
        velocity = velocity + DT * (force - jnp.array([0.0, 0.0, 9.81]))
        position = position + DT * velocity
    reward = velocity[:, 0].mean() - 1e-3 * jnp.sum(action**2)
    return (position, velocity), reward


def policy(weights, state):
    return 20.0 * jnp.tanh(jnp.concatenate([state[0].ravel(), state[1].ravel()]) @ weights)


def simulate(steps):
    rng = np.random.default_rng(0)
    weights = jnp.asarray(rng.normal(size=(6 * BODIES, BODIES - 1)) / 8, jnp.float32)
    position = np.stack([0.3 * np.arange(BODIES), np.zeros(BODIES), np.full(BODIES, 0.1)], axis=1)
    state = jnp.asarray(position, jnp.float32), jnp.zeros((BODIES, 3))
    total = 0.0
    for number in range(steps):
        action = policy(weights, state)
        state, reward = step(state, action)
        total = total + reward
        if number % 100 == 0:
            print(number, float(total))


simulate(int(os.environ.get("STEPS", 3700)))
