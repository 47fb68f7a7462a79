import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np

WIDTH = 512
FOLDER = tempfile.mkdtemp()


@jax.jit
def train_step(state, x):
    def loss_fn(p):
        h = x
        for w in p:
            h = jnp.tanh(h @ w)
        return jnp.mean((h - x) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state["params"])
    momentum = [0.9 * m + g for m, g in zip(state["momentum"], grads)]
    params = [p - 0.01 * m for p, m in zip(state["params"], momentum)]
    return {"params": params, "momentum": momentum, "step": state["step"] + 1}, loss


def save_checkpoint(state):
    leaves = jax.tree_util.tree_leaves(state)
    arrays = {f"leaf_{n}": np.asarray(leaf) for n, leaf in enumerate(leaves)}
    np.savez_compressed(os.path.join(FOLDER, "checkpoint.npz"), **arrays)


def train(steps):
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(WIDTH, WIDTH)) / 23, jnp.float32) for _ in range(4)]
    state = {"params": params, "momentum": [0.0 * p for p in params], "step": jnp.zeros((), jnp.int32)}
    x = jnp.asarray(rng.normal(size=(64, WIDTH)), jnp.float32)
    for step in range(steps):
        state, loss = train_step(state, x)
        if step % 50 == 0:
            save_checkpoint(state)
            print(step, float(loss))


train(int(os.environ.get("STEPS", 6000)))
