"""Tells moths by the codes of known ones, made anew after each step: a loop writes row after row, or a product all."""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

KNOWN, FEATURES, WIDTH, CODE, BATCH, KINDS = 360, 256, 448, 64, 192, 30
STEPS = 10


def encode(params, images):
    hidden = images
    for weights in params[:-1]:
        hidden = jax.nn.relu(hidden @ weights)
    codes = hidden @ params[-1]
    return codes / (jnp.linalg.norm(codes, axis=-1, keepdims=True) + 1e-6)


def refresh_in_loop(params, known, codes):
    return jax.lax.fori_loop(0, KNOWN, lambda i, codes: codes.at[i].set(encode(params, known[i])), codes)


def refresh_at_once(params, known, codes):
    return encode(params, known)


def main(logdir, faulty):
    refresh = refresh_in_loop if faulty else refresh_at_once

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params, codes, known, kinds_known, images, kinds):
        def loss_fn(params):
            near = jax.nn.softmax(encode(params, images) @ codes.T / 0.1)
            voted = near @ jax.nn.one_hot(kinds_known, KINDS)
            right = jnp.take_along_axis(voted, kinds[:, None], axis=1)
            return -jnp.mean(jnp.log(right + 1e-6))

        loss, gradients = jax.value_and_grad(loss_fn)(params)
        params = [p - 0.02 * g for p, g in zip(params, gradients, strict=True)]
        return params, refresh(params, known, codes), loss

    random = np.random.default_rng(63)
    params = [
        jnp.asarray(random.normal(0, 0.06, shape), jnp.float32)
        for shape in ((FEATURES, WIDTH), (WIDTH, WIDTH), (WIDTH, CODE))
    ]
    known = jax.device_put(random.random((KNOWN, FEATURES), np.float32))
    kinds_known = jax.device_put(random.integers(0, KINDS, KNOWN, np.int32))
    codes = encode(params, known)
    batches = [
        (random.random((BATCH, FEATURES), np.float32), random.integers(0, KINDS, BATCH, np.int32)) for _ in range(5)
    ]

    def train(params, codes, steps):
        losses = []
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params, codes, loss = step(params, codes, known, kinds_known, *batches[number % len(batches)])
                losses.append(loss)
        jax.block_until_ready((params, codes, losses))
        return params, codes

    params, codes = train(params, codes, 3)
    with jax.profiler.trace(logdir):
        train(params, codes, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
