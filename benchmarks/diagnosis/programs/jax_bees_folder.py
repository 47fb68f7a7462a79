"""Recognises bees by their buzz; an iterator over a folder of NumPy files reads in the loop, or on a thread of its own."""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

BATCH, MOMENTS, BANDS = 48, 160, 64
STEPS = 16


class Folder:
    """Gives one batch for each file, over and over."""

    def __init__(self, folder):
        self.files = sorted(Path(folder).glob("*.npz"))
        self.turn = 0

    def __iter__(self):
        return self

    def __next__(self):
        with np.load(self.files[self.turn % len(self.files)]) as file:
            buzz, bee = file["buzz"], file["bee"]
        self.turn += 1
        return buzz, bee


class Ahead:
    """The same, read while the caller works."""

    def __init__(self, batches):
        self.batches = batches
        self.thread = ThreadPoolExecutor(1)
        self.coming = self.thread.submit(next, batches)

    def __iter__(self):
        return self

    def __next__(self):
        batch = self.coming.result()
        self.coming = self.thread.submit(next, self.batches)
        return batch


@jax.jit
def train_step(params, buzz, bee):
    def loss_fn(params):
        hidden = jax.nn.relu(jnp.einsum("bmf,fh->bmh", buzz, params["inner"]))
        hidden = jax.nn.relu(jnp.einsum("bmh,hk->bmk", hidden, params["middle"])).mean(1)
        logits = jax.nn.log_softmax(hidden @ params["outer"])
        return -jnp.mean(jnp.take_along_axis(logits, bee[:, None], axis=1))

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), loss


def main(logdir, faulty):
    random = np.random.default_rng(36)
    params = {
        "inner": jnp.asarray(random.normal(0, 0.1, (BANDS, 192)), jnp.float32),
        "middle": jnp.asarray(random.normal(0, 0.1, (192, 192)), jnp.float32),
        "outer": jnp.asarray(random.normal(0, 0.1, (192, 5)), jnp.float32),
    }
    with tempfile.TemporaryDirectory() as place:
        for number in range(6):
            buzz = random.poisson(2.0, (BATCH, MOMENTS, BANDS)).astype(np.float32)
            np.savez_compressed(Path(place) / f"{number}.npz", buzz=buzz, bee=random.integers(0, 5, BATCH))
        batches = Folder(place) if faulty else Ahead(Folder(place))

        def train(params, steps):
            for number, (buzz, bee) in zip(range(steps), batches, strict=False):
                with jax.profiler.StepTraceAnnotation("bees", step_num=number):
                    params, loss = train_step(params, buzz, bee)
                    loss.block_until_ready()
            return params

        params = train(params, 4)
        with jax.profiler.trace(logdir):
            train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
