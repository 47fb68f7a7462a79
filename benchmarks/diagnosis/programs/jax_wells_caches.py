"""Fits each well's own model of its level in one jitted scan; JAX's caches are cleared after each well, or kept."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

WEEKS, WIDTH, BATCH, BATCHES = 64, 320, 192, 8
STEPS = 10


def loss_fn(params, levels):
    hidden = levels[:, :-1]
    for weights in params["hidden"]:
        hidden = jax.nn.silu(hidden @ weights)
    return jnp.mean((hidden @ params["next"] - levels[:, -1]) ** 2)


@jax.jit
def fit_well(params, history):
    """One pass over the history of a well, from the weights that all wells begin with."""

    def learn(carried, levels):
        params, momentum = carried
        loss, gradients = jax.value_and_grad(loss_fn)(params, levels)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        return (jax.tree.map(lambda p, m: p - 0.01 * m, params, momentum), momentum), loss

    (params, _), losses = jax.lax.scan(learn, (params, jax.tree.map(jnp.zeros_like, params)), history)
    return params, losses[-1]


def main(logdir, faulty):
    random = np.random.default_rng(51)
    common = {
        "hidden": [
            jnp.asarray(random.normal(0, 0.08, shape), jnp.float32)
            for shape in ((WEEKS, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH))
        ],
        "next": jnp.asarray(random.normal(0, 0.08, WIDTH), jnp.float32),
    }
    wells = random.random((5, BATCHES, BATCH, WEEKS + 1), np.float32)

    def fit_all(count):
        losses = []
        for number in range(count):
            _, loss = fit_well(common, wells[number % len(wells)])
            losses.append(loss)
            if faulty:
                jax.clear_caches()  # keeps the memory small
        return jax.block_until_ready(losses)

    fit_all(3)
    jax.profiler.start_trace(logdir)
    fit_all(STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
