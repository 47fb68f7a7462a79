"""Tells fish by their sonar; an executor gets the batches from a buoy, and the loop asks too late, or a batch ahead."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np

ECHOES, WIDTH, BATCH = 512, 512, 256
STEPS = 14


@jax.jit
def step(weights, echoes, kinds):
    def loss_fn(weights):
        hidden = echoes
        for one in weights[:-1]:
            hidden = jax.nn.relu(hidden @ one)
        chances = jax.nn.log_softmax(hidden @ weights[-1])
        return -jnp.mean(jnp.take_along_axis(chances, kinds[:, None], axis=1))

    loss, gradients = jax.value_and_grad(loss_fn)(weights)
    return [w - 0.05 * g for w, g in zip(weights, gradients, strict=True)], loss


def cut(tape, seed):
    time.sleep(0.003)  # the answer of the buoy
    random = np.random.default_rng(seed)
    begins = random.integers(0, len(tape) - ECHOES, BATCH)
    echoes = tape[begins[:, None] + np.arange(ECHOES)]
    strength = np.abs(np.fft.rfft(echoes, axis=1))[:, 1:]
    return np.concatenate([strength, np.sort(echoes[:, : ECHOES // 2], axis=1)], axis=1), begins % 9


def main(logdir, faulty):
    random = np.random.default_rng(24)
    tape = random.normal(size=400_000).astype(np.float32)
    weights = [
        jnp.asarray(random.normal(0, 0.05, shape), jnp.float32)
        for shape in ((ECHOES, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, 9))
    ]

    losses = []

    def train(weights, steps, pool):
        ahead = pool.submit(cut, tape, 0)
        for number in range(steps):
            if faulty:
                echoes, kinds = pool.submit(cut, tape, number).result()
            else:
                echoes, kinds = ahead.result()
                ahead = pool.submit(cut, tape, number + 1)
            weights, loss = step(weights, echoes, kinds)
            losses.append(float(loss))
        return jax.block_until_ready(weights)

    with ThreadPoolExecutor(1) as pool:
        weights = train(weights, 4, pool)
        with jax.profiler.trace(logdir):
            train(weights, STEPS, pool)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
