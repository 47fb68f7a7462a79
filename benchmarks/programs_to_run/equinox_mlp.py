"""Equinox, in a loop that is healthy: one compiled step, its data on the device."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
from step_times import tick

model = eqx.nn.MLP(512, 8, 1024, 3, key=jax.random.key(0))
x, y = jnp.ones((512, 512)), jnp.ones((512, 8))


@eqx.filter_jit
def train_step(model, x, y):
    loss, gradients = eqx.filter_value_and_grad(lambda net: jnp.mean((jax.vmap(net)(x) - y) ** 2))(model)
    return eqx.apply_updates(model, jax.tree.map(lambda g: -0.01 * g, gradients)), loss


for _ in range(int(sys.argv[1])):
    model, loss = train_step(model, x, y)
    loss.block_until_ready()
    tick()
