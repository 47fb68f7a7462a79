import os
from collections import namedtuple

import jax
import jax.numpy as jnp

SIDE, BOX, DT, KT, GAMMA, RUN = 7, 8.0, 0.004, 0.7, 1.0, 100
N, STRIDE, HEIGHT, SIGMA, NGAUSS = SIDE * SIDE, 20, 0.5, 0.15, 1024

State = namedtuple("State", "position velocity force rng")


def displacement(a, b):
    return (a - b) - BOX * jnp.round((a - b) / BOX)


def energy(position):
    r2 = (displacement(position[:, None], position[None]) ** 2).sum(-1) + jnp.eye(N)
    s6 = jnp.where(r2 < 6.25, r2**-3, 0.0)
    return 2.0 * (s6**2 - s6).sum()


def distance(position):
    return jnp.sqrt((displacement(position[0], position[1]) ** 2).sum())


def generate_context(key):
    grid = (jnp.stack(jnp.meshgrid(jnp.arange(SIDE), jnp.arange(SIDE)), -1).reshape(N, 2) + 0.5) * BOX / SIDE

    def step_fn(state):
        rng, sub = jax.random.split(state.rng)
        velocity, keep = state.velocity + 0.5 * DT * state.force, jnp.exp(-GAMMA * DT)
        position = state.position + 0.5 * DT * velocity
        velocity = keep * velocity + jnp.sqrt(KT * (1 - keep**2)) * jax.random.normal(sub, (N, 2))
        position = (position + 0.5 * DT * velocity) % BOX
        force = -jax.grad(energy)(position)
        return State(position, velocity + 0.5 * DT * force, force, rng)

    return State(grid, jnp.zeros((N, 2)), -jax.grad(energy)(grid), key), step_fn


class Metadynamics:
    def __init__(self, cv):
        self.cv = cv

    def build(self):
        def update(position, hills):
            centers, heights, step = hills
            xi, jacobian = jax.value_and_grad(self.cv)(position)
            slot = jnp.where(step % STRIDE == 0, step // STRIDE, NGAUSS)
            centers, heights = centers.at[slot].set(xi), heights.at[slot].set(HEIGHT)
            d = (xi - centers) / SIGMA
            return (centers, heights, step + 1), (heights * d / SIGMA * jnp.exp(-0.5 * d**2)).sum() * jacobian

        return (jnp.zeros(NGAUSS), jnp.zeros(NGAUSS), jnp.int32(0)), update


def run(method, context, timesteps, result=None):
    (state, step_fn), (hills, update) = context, method.build()
    state, hills = (state, hills) if result is None else result

    def _step(state, hills):
        state = step_fn(state)
        hills, bias = update(state.position, hills)
        return state._replace(force=state.force + bias), hills

    step = jax.jit(_step)
    for _ in range(timesteps):
        state, hills = step(state, hills)
    return state, hills


context, method, result = generate_context(jax.random.key(0)), Metadynamics(distance), None
for restart in range(int(os.environ.get("STEPS", 25))):
    result = run(method, context, RUN, result)
    if restart % 5 == 0:
        position = result[0].position
        print(f"{restart * RUN} xi {distance(position):.3f} energy {energy(position):.2f}", flush=True)
