"""Predicts a property of molecules by messages along bonds; a thread puts batches into a queue, slowly or fast enough."""

import queue
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np

ATOMS, BONDS, WIDTH = 600, 2400, 96
STEPS = 20


class Messages:
    """A network of a few rounds of messages, called like a function."""

    def __init__(self, rounds):
        self.rounds = rounds

    def init(self, key):
        keys = jax.random.split(key, self.rounds + 1)
        return {
            "rounds": [jax.random.normal(one, (2 * WIDTH, WIDTH)) * 0.07 for one in keys[:-1]],
            "readout": jax.random.normal(keys[-1], (WIDTH,)) * 0.1,
        }

    def __call__(self, params, graph):
        atoms = graph["atoms"]
        for weights in params["rounds"]:
            sent = jax.ops.segment_sum(atoms[graph["from"]], graph["to"], ATOMS)
            atoms = jnp.tanh(jnp.concatenate([atoms, sent], axis=1) @ weights)
        return atoms @ params["readout"]


model = Messages(3)


@jax.jit
def update(params, graph):
    gradients = jax.grad(lambda p: jnp.mean((model(p, graph) - graph["target"]) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients)


def produce(batches, pause, stop):
    random = np.random.default_rng(0)
    while not stop.is_set():
        time.sleep(pause)  # the store of molecules answers
        graph = {
            "atoms": random.random((ATOMS, WIDTH), np.float32),
            "from": random.integers(0, ATOMS, BONDS),
            "to": random.integers(0, ATOMS, BONDS),
            "target": random.random(ATOMS, np.float32),
        }
        while not stop.is_set():
            try:
                batches.put(graph, timeout=0.1)
                break
            except queue.Full:
                continue


def main(logdir, faulty):
    batches, stop = queue.Queue(maxsize=4), threading.Event()
    worker = threading.Thread(target=produce, args=(batches, 0.03 if faulty else 0.001, stop), daemon=True)
    worker.start()
    params = model.init(jax.random.key(0))

    def fit(params, steps):
        for _ in range(steps):
            graph = batches.get()
            params = update(params, graph)
        return jax.block_until_ready(params)

    params = fit(params, 6)
    jax.profiler.start_trace(logdir)
    fit(params, STEPS)
    jax.profiler.stop_trace()
    stop.set()
    worker.join()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
