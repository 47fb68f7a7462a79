"""Sorts galaxies by shape, with gradients of many microbatches added up: a call for each of them, or one scan."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

MICROBATCHES, ROWS, INPUTS = 128, 8, 192
STEPS = 15


def loss_fn(params, galaxies, shapes):
    hidden = jnp.tanh(galaxies @ params["inner"])
    return jnp.mean((hidden @ params["outer"] - shapes) ** 2)


@jax.jit
def add_gradients(total, params, galaxies, shapes):
    return jax.tree.map(jnp.add, total, jax.grad(loss_fn)(params, galaxies, shapes))


@jax.jit
def apply(params, total):
    return jax.tree.map(lambda p, g: p - 0.01 * g / MICROBATCHES, params, total)


@jax.jit
def all_in_one(params, galaxies, shapes):
    gradients = jax.grad(lambda params: jnp.mean(jax.vmap(loss_fn, (None, 0, 0))(params, galaxies, shapes)))(params)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients)


def call_by_call(params, galaxies, shapes):
    total = jax.tree.map(jnp.zeros_like, params)
    for part in range(MICROBATCHES):
        total = add_gradients(total, params, galaxies[part], shapes[part])
    return apply(params, total)


def main(logdir, faulty):
    random = np.random.default_rng(16)
    params = {
        "inner": jnp.asarray(random.normal(0, 0.1, (INPUTS, 160)), jnp.float32),
        "outer": jnp.asarray(random.normal(0, 0.1, (160, 5)), jnp.float32),
    }
    galaxies = random.random((MICROBATCHES, ROWS, INPUTS), np.float32)
    shapes = random.random((MICROBATCHES, ROWS, 5), np.float32)
    train_step = call_by_call if faulty else all_in_one

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params = train_step(params, galaxies, shapes)
                jax.block_until_ready(params)
        return params

    params = train(params, 4)
    with jax.profiler.trace(logdir):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
