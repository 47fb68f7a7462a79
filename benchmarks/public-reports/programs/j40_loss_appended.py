import os

import jax
import jax.numpy as jnp
import optax

DIMENSIONS, HIDDEN, LAYERS, BATCH = 6, 64, 6, 500


def init_flow(key):
    half = DIMENSIONS // 2
    layers = []
    for key in jax.random.split(key, LAYERS):
        first, second = jax.random.split(key)
        layers.append(
            {
                "in": 0.2 * jax.random.normal(first, (half, HIDDEN)),
                "bias": jnp.zeros(HIDDEN),
                "out": 0.02 * jax.random.normal(second, (HIDDEN, DIMENSIONS)),
            }
        )
    return layers


def log_prob(layers, x):
    log_det = jnp.zeros(x.shape[0])
    for layer in layers:
        kept, moved = jnp.split(x, 2, axis=1)
        hidden = jnp.tanh(kept @ layer["in"] + layer["bias"])
        shift, scale = jnp.split(hidden @ layer["out"], 2, axis=1)
        moved = (moved - shift) * jnp.exp(-jnp.tanh(scale))
        log_det = log_det - jnp.tanh(scale).sum(axis=1)
        x = jnp.concatenate([moved, kept], axis=1)
    return log_det - 0.5 * jnp.sum(x**2 + jnp.log(2 * jnp.pi), axis=1)


optimizer = optax.adam(1e-3)


@jax.jit
def train_step(layers, opt_state, batch):
    value, grads = jax.value_and_grad(lambda w: -log_prob(w, batch).mean())(layers)
    updates, opt_state = optimizer.update(grads, opt_state, layers)
    return value, optax.apply_updates(layers, updates), opt_state


def train_epoch(key, layers, opt_state, data):
    order = jax.random.permutation(key, len(data)).reshape(-1, BATCH)
    for rows in order:
        value, layers, opt_state = train_step(layers, opt_state, data[rows])
    return value, layers, opt_state


def train_flow(key, layers, data, num_epochs):
    opt_state = optimizer.init(layers)
    loss_values = jnp.array([])
    for epoch in range(num_epochs):
        key, epoch_key = jax.random.split(key)
        value, layers, opt_state = train_epoch(epoch_key, layers, opt_state, data)
        loss_values = jnp.append(loss_values, value)
        if epoch % 50 == 0:
            print(f"epoch {epoch}: loss {value:.3f}")
    return layers, loss_values


key, data_key, mix_key, flow_key = jax.random.split(jax.random.PRNGKey(42), 4)
chains = jax.random.normal(data_key, (1000, DIMENSIONS))
chains = jnp.sin(chains @ jax.random.normal(mix_key, (DIMENSIONS, DIMENSIONS))) + 0.1 * chains
flow, losses = train_flow(key, init_flow(flow_key), chains, int(os.environ.get("STEPS", 550)))
print("best epoch", int(jnp.argmin(losses)), "loss", float(losses.min()))
