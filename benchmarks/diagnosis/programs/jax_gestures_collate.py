"""Recognises gestures of hands; a loader stacks the examples of a batch with jax.numpy one by one, or with NumPy."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

GESTURES, MOMENTS, SENSORS, WIDTH, KINDS, BATCH = 2_048, 40, 12, 320, 16, 128
STEPS = 14


class Gestures:
    """One example at a time, as a dataset of PyTorch gives them."""

    def __init__(self, random):
        self.signals = random.random((GESTURES, MOMENTS, SENSORS), np.float32)
        self.kinds = random.integers(0, KINDS, GESTURES, np.int32)

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        return self.signals[index], self.kinds[index]


def collate_jax(examples):
    return tuple(jnp.stack([jnp.asarray(part) for part in parts]) for parts in zip(*examples, strict=True))


def collate_numpy(examples):
    return tuple(np.stack(parts) for parts in zip(*examples, strict=True))


class Loader:
    def __init__(self, gestures, random, collate):
        self.gestures, self.random, self.collate = gestures, random, collate

    def __iter__(self):
        order = self.random.permutation(len(self.gestures))
        for rows in order.reshape(-1, BATCH):
            yield self.collate([self.gestures[row] for row in rows])


@jax.jit
def step(params, signals, kinds):
    def loss_fn(params):
        hidden = signals.reshape(BATCH, -1)
        for weights in params["hidden"]:
            hidden = jax.nn.relu(hidden @ weights)
        logits = jax.nn.log_softmax(hidden @ params["out"])
        return -jnp.mean(jnp.take_along_axis(logits, kinds[:, None], axis=1))

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.02 * g, params, gradients), loss


def main(logdir, faulty):
    random = np.random.default_rng(64)
    loader = Loader(Gestures(random), random, collate_jax if faulty else collate_numpy)
    shapes = ((MOMENTS * SENSORS, WIDTH), *[(WIDTH, WIDTH)] * 5)
    params = {
        "hidden": [jnp.asarray(random.normal(0, 0.06, shape), jnp.float32) for shape in shapes],
        "out": jnp.asarray(random.normal(0, 0.06, (WIDTH, KINDS)), jnp.float32),
    }

    def train(params, steps):
        losses = []
        for _, (signals, kinds) in zip(range(steps), loader, strict=False):
            params, loss = step(params, signals, kinds)
            losses.append(loss)
        jax.block_until_ready((params, losses))
        return params

    params = train(params, 4)
    jax.profiler.start_trace(logdir)
    train(params, STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
