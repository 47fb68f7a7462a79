"""Predicts clicks on ads; features come from a store on the network, asked for in the loop or some batches ahead."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 1024
ANSWER_S = 0.04
AHEAD = 4
STEPS = 20


def loss_fn(params, ads, dense, clicked):
    hidden = jnp.concatenate([params["table"][ads].reshape(BATCH, -1), dense], axis=1)
    for weights, bias in params["layers"]:
        hidden = jax.nn.relu(hidden @ weights + bias)
    logits = hidden @ params["out"]
    return jnp.mean(jnp.logaddexp(0.0, logits) - clicked * logits)


@partial(jax.jit, donate_argnums=0)
def train_step(params, ads, dense, clicked):
    gradients = jax.grad(loss_fn)(params, ads, dense, clicked)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients)


class FeatureStore:
    """Answers after the time that a service in the same building takes."""

    def __init__(self):
        random = np.random.default_rng(2)
        self.ads = random.integers(0, 5000, (BATCH, 4))
        self.dense = random.random((BATCH, 40), np.float32)
        self.clicked = random.integers(0, 2, BATCH).astype(np.float32)

    def fetch(self, number):
        time.sleep(ANSWER_S)
        turn = number % 7
        return np.roll(self.ads, turn, axis=0), np.roll(self.dense, turn, axis=0), np.roll(self.clicked, turn)


def main(logdir, faulty):
    random = np.random.default_rng(3)
    widths = [(4 * 16 + 40, 512), (512, 512), (512, 256)]
    params = {
        "table": jnp.asarray(random.normal(0, 0.1, (5000, 16)), jnp.float32),
        "layers": [(jnp.asarray(random.normal(0, 0.05, w), jnp.float32), jnp.zeros(w[1])) for w in widths],
        "out": jnp.zeros(256),
    }
    store = FeatureStore()
    threads = ThreadPoolExecutor(AHEAD)

    def train(params, steps):
        asked = [threads.submit(store.fetch, number) for number in range(AHEAD)]
        for number in range(steps):
            if faulty:
                batch = store.fetch(number)
            else:
                batch = asked.pop(0).result()
                asked.append(threads.submit(store.fetch, number + AHEAD))
            params = train_step(params, *batch)
        return jax.block_until_ready(params)

    params = train(params, 4)
    with jax.profiler.trace(logdir):
        train(params, STEPS)
    threads.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
