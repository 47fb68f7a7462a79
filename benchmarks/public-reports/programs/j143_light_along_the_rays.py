import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

DEPTH, RAYS, SETS = 4096, 384, 2


def render(params, density, source):
    """Light of each ray, dimmed by what lies before it."""
    tau = jnp.cumsum(jnp.exp(params["log_opacity"]) * density, axis=0)
    return jnp.sum(source * jnp.exp(-tau), axis=0) * params["brightness"]


def loss_fn(params, density, source, image):
    return jnp.mean((render(params, density, source) - image) ** 2)


optimizer = optax.adam(0.01)


@jax.jit
def update(params, opt_state, density, source, image):
    loss, grads = jax.value_and_grad(loss_fn)(params, density, source, image)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


def cloud(rng):
    density = rng.gamma(0.5, 2.0 / DEPTH, (DEPTH, RAYS)).astype(np.float32)
    source = rng.gamma(2.0, 0.5 / DEPTH, (DEPTH, RAYS)).astype(np.float32)
    image = np.sum(source * np.exp(-1.7 * np.cumsum(density, axis=0)), axis=0)
    return jnp.asarray(density), jnp.asarray(source), jnp.asarray(image)


def fit(steps):
    rng = np.random.default_rng(0)
    clouds = [cloud(rng) for _ in range(SETS)]
    params = {"log_opacity": jnp.zeros(()), "brightness": jnp.ones(())}
    opt_state = optimizer.init(params)
    for step in range(steps):
        params, opt_state, loss = update(params, opt_state, *clouds[step % SETS])
        if step % 50 == 0:
            print(step, float(loss), float(jnp.exp(params["log_opacity"])))


fit(int(os.environ.get("STEPS", 500)))
