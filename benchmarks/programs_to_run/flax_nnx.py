"""Flax NNX, in a loop that reads its loss after each step and sleeps over it as a slow disk would."""

import sys
import time

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from step_times import tick


class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(256, 512, rngs=rngs)
        self.last = nnx.Linear(512, 8, rngs=rngs)

    def __call__(self, x):
        return self.last(jax.nn.relu(self.first(x)))


@nnx.jit
def train_step(model, optimizer, x, y):
    loss, gradients = nnx.value_and_grad(lambda net: jnp.mean((net(x) - y) ** 2))(model)
    optimizer.update(model, gradients)
    return loss


def save_metrics(loss):
    time.sleep(0.004)
    return float(loss)


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.01), wrt=nnx.Param)
x, y = jnp.ones((256, 256)), jnp.ones((256, 8))
for _ in range(int(sys.argv[1])):
    save_metrics(train_step(model, optimizer, x, y))
    tick()
