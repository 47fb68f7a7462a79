"""A loop of JAX that evaluates on a larger set every fifty steps."""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from own_clock import clocked, slower, started

EVERY, BATCH = 50, 256


def predict(params, x):
    for w in params[:-1]:
        x = jax.nn.relu(x @ w)
    return x @ params[-1]


def loss_fn(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


@jax.jit
def train_step(params, x, y):
    loss, gradients = jax.value_and_grad(loss_fn)(params, x, y)
    return [p - 0.01 * g for p, g in zip(params, gradients)], loss


@jax.jit
def score(params, x, y):
    return jnp.abs(predict(params, x) - y).mean()


def evaluate(params, held_out):
    scores = [float(score(params, x, y)) for x, y in held_out]
    return sum(scores) / len(scores)


def train(steps):
    random = np.random.default_rng(0)
    batches = [
        (
            jnp.asarray(random.random((BATCH, 512), dtype=np.float32)),
            jnp.asarray(random.random((BATCH, 8), dtype=np.float32)),
        )
        for _ in range(40)
    ]
    params = [
        jnp.asarray(random.random((512, 512), dtype=np.float32)) * 0.01,
        jnp.asarray(random.random((512, 8), dtype=np.float32)) * 0.01,
    ]
    held_out = batches * 2
    evaluate(params, held_out[:1])
    for step in range(steps):
        begin = time.perf_counter()
        params, loss = train_step(params, *batches[step % len(batches)])
        loss.block_until_ready()
        slower(begin)
        started()
        if step % EVERY == EVERY - 1:
            with clocked("evaluate"):
                print(step + 1, evaluate(params, held_out), flush=True)


if __name__ == "__main__":
    train(int(sys.argv[1]))
