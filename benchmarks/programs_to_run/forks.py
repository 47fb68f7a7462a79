"""Loads its batches in processes that it forks before it imports JAX, and forks another in the middle of training."""

import multiprocessing
import os
import sys

import numpy as np


def load(number):
    random = np.random.default_rng(number)
    return np.sort(random.random((1024, 256), dtype=np.float32), axis=1)


def work(numbers, batches):
    for number in iter(numbers.get, None):
        batches.put(load(number))


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    numbers, batches = context.Queue(), context.Queue()
    worker = context.Process(target=work, args=(numbers, batches), daemon=True)
    worker.start()

    import jax.numpy as jnp
    from jax_loop import train_step
    from step_times import tick

    params = [jnp.ones((256, 64)) * 0.01, jnp.ones((64, 8)) * 0.01]
    targets = np.ones((1024, 8), np.float32)
    for number in range(int(sys.argv[1])):
        numbers.put(number)
        params, loss = train_step(params, batches.get(), targets)
        loss.block_until_ready()
        if number % 100 == 50:
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
        tick()
    numbers.put(None)
