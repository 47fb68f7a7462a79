import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

NODES, EDGES, BATCH, LATENT, ROUNDS = 16, 40, 8, 32, 6


def make_problems(rng):
    """Linear systems A x = b on random networks."""
    senders, receivers = rng.integers(0, NODES, (2, BATCH, EDGES))
    weights = rng.uniform(0.1, 1.0, (BATCH, EDGES)).astype("float32")
    matrix, index = np.zeros((BATCH, NODES, NODES), "float32"), np.arange(BATCH)[:, None]
    np.add.at(matrix, (index, senders, receivers), -weights)
    np.add.at(matrix, (index, receivers, senders), -weights)
    matrix += np.eye(NODES, dtype="float32") * (0.5 - matrix.sum(-1))[:, None]
    right_side = rng.normal(size=(BATCH, NODES)).astype("float32")
    context = {"senders": senders, "receivers": receivers, "weights": weights[..., None], "b": right_side[..., None]}
    return context, matrix, right_side


def init_params(key):
    dense = lambda k, i, o: {"w": jax.random.normal(k, (i, o)) / i**0.5, "b": jnp.zeros(o)}
    keys = jax.random.split(key, 6)
    sizes = {"encoder": (1, LATENT), "message": (2 * LATENT + 1, LATENT), "message_out": (LATENT, LATENT),
             "node": (2 * LATENT + 1, LATENT), "node_out": (LATENT, LATENT), "decoder": (LATENT, 1)}
    return {name: dense(k, *size) for k, (name, size) in zip(keys, sizes.items())}


def gnn(params, context):
    apply = lambda name, x: x @ params[name]["w"] + params[name]["b"]

    def one_graph(senders, receivers, weights, b):
        h = jnp.tanh(apply("encoder", b))
        for _ in range(ROUNDS):
            pairs = jnp.concatenate([h[senders], h[receivers], weights], -1)
            messages = jnp.tanh(apply("message_out", jnp.tanh(apply("message", pairs))))
            received = jnp.zeros_like(h).at[receivers].add(messages).at[senders].add(messages)
            inner = jnp.tanh(apply("node", jnp.concatenate([h, received, b], -1)))
            h = h + 0.2 * jnp.tanh(apply("node_out", inner))
        return apply("decoder", h)[:, 0]

    return jax.vmap(one_graph)(context["senders"], context["receivers"], context["weights"], context["b"])


class Trainer:
    def __init__(self, params):
        self.params, self.optimizer = params, optax.adam(1e-3)
        self.opt_state = self.optimizer.init(params)
        self.forward = jax.jit(lambda params, context: jax.vjp(lambda p: gnn(p, context), params))
        self.problem_gradient = jax.jit(jax.value_and_grad(self.objective, argnums=0))
        self.apply_updates = jax.jit(self._apply_updates)

    @staticmethod
    def objective(decision, matrix, right_side):
        return jnp.mean((jnp.einsum("bij,bj->bi", matrix, decision) - right_side) ** 2)

    def _apply_updates(self, grads, opt_state, params):
        updates, opt_state = self.optimizer.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state

    def training_step(self, context, matrix, right_side):
        decision, vjp_fn = self.forward(self.params, context)
        loss, gradient = self.problem_gradient(decision, matrix, right_side)
        (grads,) = vjp_fn(gradient)
        self.params, self.opt_state = self.apply_updates(grads, self.opt_state, self.params)
        return loss


def train(steps):
    trainer, rng = Trainer(init_params(jax.random.key(0))), np.random.default_rng(0)
    for step in range(steps):
        loss = trainer.training_step(*make_problems(rng))
        if step % 50 == 0:
            print(f"step {step}, objective {float(loss):.4f}", flush=True)


train(int(os.environ.get("STEPS", 300)))
