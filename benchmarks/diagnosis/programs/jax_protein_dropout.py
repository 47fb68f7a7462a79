"""Classifies proteins with dropout that grows in training; the rate is a static argument of the step, or an array."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

BATCH, RESIDUES, WIDTH = 64, 400, 384
STEPS = 14


def step(params, proteins, kinds, key, rate):
    def loss_fn(params):
        x = proteins
        for number, weights in enumerate(params[:-1]):
            x = jax.nn.relu(x @ weights)
            kept = jax.random.uniform(jax.random.fold_in(key, number), x.shape) > rate
            x = jnp.where(kept, x / (1 - rate), 0)
        logits = jax.nn.log_softmax(x @ params[-1])
        return -jnp.mean(jnp.take_along_axis(logits, kinds[:, None], axis=1))

    gradients = jax.grad(loss_fn)(params)
    return [p - 0.01 * g for p, g in zip(params, gradients, strict=True)]


def main(logdir, faulty):
    random = np.random.default_rng(12)
    shapes = [(RESIDUES, WIDTH), *[(WIDTH, WIDTH)] * 3, (WIDTH, 40)]
    params = [jnp.asarray(random.normal(0, 0.05, shape), jnp.float32) for shape in shapes]
    proteins = jnp.asarray(random.random((BATCH, RESIDUES), np.float32))
    kinds = jnp.asarray(random.integers(0, 40, BATCH))
    train_step = jax.jit(step, static_argnames="rate") if faulty else jax.jit(step)
    keys = iter(jax.random.split(jax.random.key(0), 64))

    def train(params, first, steps):
        for number in range(first, first + steps):
            rate = min(0.5, 0.01 * (number + 1))
            params = train_step(params, proteins, kinds, next(keys), rate=rate)
            jax.block_until_ready(params)
        return params

    params = train(params, 0, 4)
    jax.profiler.start_trace(logdir)
    train(params, 4, STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
