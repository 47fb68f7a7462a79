"""A network learns prices; its journal writes all metrics so far to a JSON file after each step, or after the last."""

import json
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

INPUTS, WIDTH, BATCH = 64, 256, 128
STEPS = 18


class Journal:
    def __init__(self, folder, every):
        self.file, self.every, self.rows = Path(folder) / "journal.json", every, []

    def __call__(self, number, metrics):
        self.rows.append(metrics)
        if number % self.every == self.every - 1:
            rows = [{name: np.asarray(value).tolist() for name, value in row.items()} for row in self.rows]
            self.file.write_text(json.dumps(rows, indent=1))


class Trader:
    def __init__(self):
        random = np.random.default_rng(13)
        shapes = ((INPUTS, WIDTH), (WIDTH, WIDTH), (WIDTH, 1))
        self.weights = [jnp.asarray(random.normal(0, 0.05, shape), jnp.float32) for shape in shapes]
        self.batches = [random.random((BATCH, INPUTS), np.float32) for _ in range(8)]
        self.step = jax.jit(self._step)

    @staticmethod
    def _step(weights, prices):
        def loss_fn(weights):
            hidden = prices
            for one in weights[:-1]:
                hidden = jax.nn.silu(hidden @ one)
            errors = (hidden @ weights[-1])[:, 0] - prices.mean(axis=1)
            return jnp.mean(errors**2), errors

        (loss, errors), gradients = jax.value_and_grad(loss_fn, has_aux=True)(weights)
        norms = jnp.stack([jnp.linalg.norm(g) for g in gradients])
        return [w - 0.01 * g for w, g in zip(weights, gradients, strict=True)], {
            "loss": loss,
            "norms": norms,
            "errors": errors,
        }

    def run(self, steps, journal):
        for number in range(steps):
            self.weights, metrics = self.step(self.weights, self.batches[number % 8])
            journal(number, metrics)
        jax.block_until_ready(self.weights)


def main(logdir, faulty):
    trader = Trader()
    with tempfile.TemporaryDirectory() as folder:
        trader.run(4, Journal(folder, 1))
        journal = Journal(folder, 1 if faulty else 1000)
        with jax.profiler.trace(logdir):
            trader.run(STEPS, journal)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
