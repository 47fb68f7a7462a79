"""Trains for some seconds, prints what came out to the last bit, ends with a code."""

import hashlib
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def train_step(params, batch):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((batch @ w) ** 2))(params)
    return params - 0.1 * gradient, loss


def train(steps):
    params = jnp.ones((64, 8))
    for number in range(steps):
        batch = np.random.default_rng(number).random((512, 64), dtype=np.float32)
        params, loss = train_step(params, batch)
        loss.block_until_ready()
        time.sleep(0.004)
    return np.asarray(params)


if __name__ == "__main__":
    result = train(int(sys.argv[1]))
    print(hashlib.sha256(result.tobytes()).hexdigest())
    sys.exit(int(sys.argv[2]))
