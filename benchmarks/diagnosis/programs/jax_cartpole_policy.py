"""Improves a policy by its gradient while poles are balanced in NumPy; the loop may wait for each update to end."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

POLES, TIME = 48, 60
UPDATES = 10
STEPS = 20


@jax.jit
def update(params, states, pushes, rewards):
    def loss_fn(params):
        logits = jnp.tanh(states @ params["inner"]) @ params["outer"]
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), pushes[..., None], axis=-1)[..., 0]
        return -jnp.mean(chosen * rewards)

    def once(_, params):
        gradients = jax.grad(loss_fn)(params)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients)

    return jax.lax.fori_loop(0, UPDATES, once, params)


def balance(random, weights):
    """Plays with the policy of the step before, as asynchronous actors do."""
    states = random.normal(0, 0.05, (POLES, 4))
    seen, pushes = [], []
    for _ in range(TIME):
        push = (np.tanh(states @ weights) @ np.ones(8) + random.normal(0, 1, POLES) > 0).astype(np.int32)
        position, speed, angle, turning = states.T
        force = np.where(push > 0, 10.0, -10.0)
        thrust = (force + 0.05 * turning**2 * np.sin(angle)) / 1.1
        twist = (9.8 * np.sin(angle) - np.cos(angle) * thrust) / (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1))
        pull = thrust - 0.05 * twist * np.cos(angle) / 1.1
        seen.append(states)
        pushes.append(push)
        states = np.stack(
            [position + 0.02 * speed, speed + 0.02 * pull, angle + 0.02 * turning, turning + 0.02 * twist], 1
        )
    seen = np.array(seen, np.float32)
    upright = (np.abs(seen[..., 2]) < 0.2).astype(np.float32)
    return seen, np.array(pushes), upright - upright.mean()


def main(logdir, faulty):
    random = np.random.default_rng(9)
    params = {
        "inner": jnp.asarray(random.normal(0, 0.5, (4, 64)), jnp.float32),
        "outer": jnp.asarray(random.normal(0, 0.1, (64, 2)), jnp.float32),
    }
    actors = random.normal(0, 1, (4, 8))

    def train(params, steps):
        for _ in range(steps):
            games = balance(random, actors)
            params = update(params, *games)
            if faulty:
                jax.block_until_ready(params)
        return jax.block_until_ready(params)

    params = train(params, 4)
    with jax.profiler.trace(logdir):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
