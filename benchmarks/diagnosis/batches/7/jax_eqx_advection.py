"""A physics-informed network for the advection equation (equinox), with a learning rate that decays each step."""

import math
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

STEPS = 8
POINTS = 24576
SPEED = 0.4


def cosine(step, total=500, peak=2e-3):
    return 0.5 * peak * (1 + math.cos(math.pi * step / total))


class Net(eqx.Module):
    layers: list

    def __init__(self, key):
        sizes = [2, 160, 160, 1]
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in zip(sizes[:-1], sizes[1:], keys)]

    def __call__(self, t, x):
        h = jnp.stack([t, x])
        for layer in self.layers[:-1]:
            h = jnp.tanh(layer(h))
        return self.layers[-1](h)[0]


def residual(net, t, x):
    """u_t + SPEED * u_x, as one directional derivative."""
    return jax.jvp(net, (t, x), (jnp.ones_like(t), SPEED * jnp.ones_like(x)))[1]


def loss_fn(net, t, x):
    inside = jax.vmap(residual, (None, 0, 0))(net, t, x)
    start = jax.vmap(net, (None, 0))(0.0, x) - jnp.sin(2 * jnp.pi * x)
    return jnp.mean(inside**2) + jnp.mean(start**2)


optim = optax.scale_by_adam()


@eqx.filter_jit
def make_step(net, opt_state, t, x, lr):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(net, t, x)
    updates, opt_state = optim.update(grads, opt_state)
    net = eqx.apply_updates(net, jax.tree.map(lambda u: -lr * u, updates))
    return net, opt_state, loss


def main(logdir, faulty):
    net = Net(jax.random.key(42))
    opt_state = optim.init(eqx.filter(net, eqx.is_array))
    rng = np.random.default_rng(0)

    def fit(net, opt_state, steps):
        for step in steps:
            t = rng.random(POINTS, np.float32)
            x = rng.random(POINTS, np.float32)
            lr = cosine(step)
            if not faulty:
                lr = jnp.asarray(lr)
            net, opt_state, loss = make_step(net, opt_state, t, x, lr)
        loss.block_until_ready()
        return net, opt_state

    net, opt_state = fit(net, opt_state, range(3))
    with jax.profiler.trace(logdir):
        fit(net, opt_state, range(3, 3 + STEPS))


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
