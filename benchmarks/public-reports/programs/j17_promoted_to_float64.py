import os

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np

WIDTH = 768


def adam(param, grad, moments, step, rate=1e-3):
    t = jnp.asarray(step, float) + 1
    first = 0.9 * moments[0] + 0.1 * grad
    second = 0.999 * moments[1] + 0.001 * grad**2
    corrected = first / (1 - 0.9**t)
    size = jnp.sqrt(second / (1 - 0.999**t)) + 1e-8
    return param - rate * corrected / size, (first, second)


@jax.jit
def train_step(params, moments, step, x, y):
    def loss_fn(p):
        h = x
        for w in p:
            h = jnp.tanh(h @ w)
        return jnp.mean((h - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updated = [adam(p, g, m, step) for p, g, m in zip(params, grads, moments)]
    return [p for p, _ in updated], [m for _, m in updated], step + 1, loss


def train(steps):
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(WIDTH, WIDTH)) / 28, jnp.float32) for _ in range(3)]
    moments = [(jnp.zeros_like(p), jnp.zeros_like(p)) for p in params]
    x = jnp.asarray(rng.normal(size=(256, WIDTH)), jnp.float32)
    step = jnp.asarray(0, jnp.int32)
    for number in range(steps):
        params, moments, step, loss = train_step(params, moments, step, x, x)
        if number % 20 == 0:
            print(number, float(loss))


train(int(os.environ.get("STEPS", 1200)))
