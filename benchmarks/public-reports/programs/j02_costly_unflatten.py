import os

import jax
import jax.numpy as jnp
import numpy as np


@jax.tree_util.register_pytree_node_class
class Quadrature:
    """Nodes and weights of an integral, with a scale that is learned."""

    def __init__(self, scale, order=160):
        self.scale = scale
        self.order = order
        self.nodes, self.weights = np.polynomial.legendre.leggauss(order)

    def tree_flatten(self):
        return (self.scale,), self.order

    @classmethod
    def tree_unflatten(cls, order, children):
        return cls(children[0], order)


def evidence(model, x):
    inner = jnp.exp(-((x[:, None] - model.scale * model.nodes) ** 2))
    return jnp.mean((inner @ model.weights - 1.0) ** 2)


@jax.jit
def make_step(model, x):
    grads = jax.grad(evidence)(model, x)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, model, grads)


def fit(steps):
    model = Quadrature(jnp.asarray(1.0))
    x = jnp.linspace(-1.0, 1.0, 256)
    for step in range(steps):
        model = make_step(model, x)
        if step % 200 == 0:
            print(step, float(model.scale))


fit(int(os.environ.get("STEPS", 8000)))
