import os

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

FEATURES, WIDTH, DEPTH, BATCH = 12, 48, 6, 64


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.up = nnx.Linear(WIDTH, 2 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(2 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        return x + self.down(nnx.gelu(self.up(self.norm(x))))


class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(FEATURES, WIDTH, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(DEPTH)])
        self.last = nnx.Linear(WIDTH, 1, rngs=rngs)

    def __call__(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)[:, 0]


@nnx.jit
def train_step(model, optimizer, metrics, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    metrics.update(loss=loss)


def train(steps):
    rng = np.random.default_rng(0)
    direction = rng.normal(size=FEATURES) / 3
    model = Regressor(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    for step in range(steps):
        x = rng.normal(size=(BATCH, FEATURES)).astype("float32")
        y = np.sin(x @ direction).astype("float32")
        train_step(model, optimizer, metrics, x, y)
        if step % 200 == 199:
            print(step, float(metrics.compute()["loss"]))
            metrics.reset()


train(int(os.environ.get("STEPS", 4500)))
