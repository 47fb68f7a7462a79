import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH, REPRESENTATION, WIDTH = 512, 64, 128
OPTIMIZER = optax.adam(3e-4)


def encode(layers, x):
    for weights in layers[:-1]:
        x = jax.nn.swish(x @ weights)
    return x @ layers[-1]


def energy_fn(name, x, y):
    if name == "l2":
        return -jnp.sqrt(jnp.sum((x - y) ** 2, axis=-1) + 1e-6)
    if name == "l1":
        return -jnp.sum(jnp.abs(x - y), axis=-1)
    raise ValueError(f"unknown energy function {name}")


@jax.jit
def update_critic(params, state, batch):
    def critic_loss(p):
        sa_repr = encode(p["sa"], batch["sa"])
        g_repr = encode(p["g"], batch["goal"])
        logits = energy_fn("l2", sa_repr[:, None, :], g_repr[None, :, :])
        return -jnp.mean(jnp.diag(logits) - jax.nn.logsumexp(logits, axis=1))

    loss, grads = jax.value_and_grad(critic_loss)(params)
    updates, state = OPTIMIZER.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


def train(steps):
    rng = np.random.default_rng(0)

    def layers(inputs):
        shapes = [(inputs, WIDTH), (WIDTH, WIDTH), (WIDTH, REPRESENTATION)]
        return [jnp.asarray(rng.normal(size=s) / s[0] ** 0.5, jnp.float32) for s in shapes]

    params = {"sa": layers(24), "g": layers(6)}
    state = OPTIMIZER.init(params)
    experience = rng.normal(size=(20_000, 30)).astype("float32")
    for step in range(steps):
        rows = experience[rng.integers(0, len(experience), BATCH)]
        params, state, loss = update_critic(params, state, {"sa": rows[:, :24], "goal": rows[:, 24:]})
        if step % 20 == 0:
            print(step, float(loss))


train(int(os.environ.get("STEPS", 500)))
