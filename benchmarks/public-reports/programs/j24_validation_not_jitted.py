import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

DIMENSIONS, HIDDEN, BATCH = 8, 64, 128
OPTIMIZER = optax.adam(5e-4)


def log_prob(params, x):
    log_det = jnp.zeros(x.shape[0])
    for layer in params:
        kept, moved = jnp.split(x, 2, axis=1)
        hidden = jax.nn.relu(kept @ layer["hidden"] + layer["bias"])
        shift, scale = jnp.split(hidden @ layer["out"], 2, axis=1)
        scale = jnp.tanh(scale)
        moved = (moved - shift) * jnp.exp(-scale)
        log_det = log_det - scale.sum(axis=1)
        x = jnp.concatenate([moved, kept], axis=1)
    return -0.5 * jnp.sum(x**2 + jnp.log(2 * jnp.pi), axis=1) + log_det


def loss_fn(params, x):
    return -log_prob(params, x).mean()


@jax.jit
def step(params, state, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    updates, state = OPTIMIZER.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


def batches(x):
    return x[: len(x) // BATCH * BATCH].reshape(-1, BATCH, x.shape[1])


def fit_to_data(params, train, validation, max_epochs):
    rng = np.random.default_rng(1)
    state = OPTIMIZER.init(params)
    best, lowest = params, np.inf
    for epoch in range(max_epochs):
        losses = []
        for batch in batches(rng.permutation(train)):
            params, state, loss = step(params, state, batch)
            losses.append(loss)
        validation_loss = np.mean([loss_fn(params, batch) for batch in batches(validation)])
        if validation_loss < lowest:
            best, lowest = params, validation_loss
        print(epoch, float(np.mean(losses)), float(validation_loss))
    return best


def main():
    rng = np.random.default_rng(0)
    half = DIMENSIONS // 2
    shapes = {"hidden": (half, HIDDEN), "bias": (HIDDEN,), "out": (HIDDEN, DIMENSIONS)}
    params = [{name: jnp.asarray(0.1 * rng.normal(size=s), jnp.float32) for name, s in shapes.items()} for _ in range(8)]
    x = np.tanh(rng.normal(size=(6400, DIMENSIONS)) @ rng.normal(size=(DIMENSIONS, DIMENSIONS))).astype("float32")
    fit_to_data(params, x[:4480], x[4480:], int(os.environ.get("STEPS", 10500)) // 35)


main()
