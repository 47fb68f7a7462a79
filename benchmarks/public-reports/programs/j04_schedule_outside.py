import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

SCHEDULE = optax.warmup_cosine_decay_schedule(0.0, 3e-4, 500, 100_000)
OPTIMIZER = optax.adam(SCHEDULE)


@jax.jit
def update(params, state, x, advantage):
    def loss_fn(p):
        logits = jnp.tanh(x @ p["body"]) @ p["head"]
        return -jnp.mean(jax.nn.log_softmax(logits)[:, 0] * advantage)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, state = OPTIMIZER.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


def train(steps):
    rng = np.random.default_rng(0)
    params = {
        "body": jnp.asarray(rng.normal(size=(24, 64)) / 5, jnp.float32),
        "head": jnp.asarray(rng.normal(size=(64, 4)) / 8, jnp.float32),
    }
    state = OPTIMIZER.init(params)
    x = jnp.asarray(rng.normal(size=(256, 24)), jnp.float32)
    advantage = jnp.asarray(rng.normal(size=256), jnp.float32)
    rates = []
    for step in range(steps):
        params, state, loss = update(params, state, x, advantage)
        rates.append(SCHEDULE(state[0].count))
        if step % 100 == 0:
            print(step, float(loss), float(rates[-1]))


train(int(os.environ.get("STEPS", 8000)))
