"""A loop of JAX that formats its whole history after each step: nearly all of it is calls of Python."""

import sys

import jax
import jax.numpy as jnp
from step_times import tick


@jax.jit
def train_step(w, x):
    loss, gradient = jax.value_and_grad(lambda v: jnp.mean((x @ v) ** 2))(w)
    return w - 0.01 * gradient, loss


def line_of(index, value):
    return f"{index}: {value:.4f}"


def log_metrics(history, loss):
    history[0] = float(loss)
    return ", ".join(line_of(index, value) for index, value in enumerate(history))[-80:]


w, x = jnp.ones((256, 128)) * 0.01, jnp.ones((256, 256))
history = [float(number) for number in range(5_000)]
for _ in range(int(sys.argv[1])):
    w, loss = train_step(w, x)
    log_metrics(history, loss)
    tick()
