import os

import jax
import jax.numpy as jnp
import numpy as np

ROWS, CHOSEN = 200_000, 256


@jax.jit
def svi_step(params, features, labels, key):
    chosen = jax.random.choice(key, ROWS, (CHOSEN,), replace=False)
    x, y = features[chosen], labels[chosen]

    def negative_elbo(p):
        logits = x @ p["mean"]
        fit = jnp.mean(jnp.logaddexp(0.0, -y * logits))
        return fit + 1e-3 * jnp.sum(p["mean"] ** 2)

    loss, grads = jax.value_and_grad(negative_elbo)(params)
    return {"mean": params["mean"] - 0.05 * grads["mean"]}, loss


def fit(steps):
    rng = np.random.default_rng(0)
    features = jnp.asarray(rng.normal(size=(ROWS, 20)), jnp.float32)
    labels = jnp.sign(features[:, 0])
    params = {"mean": jnp.zeros(20)}
    key = jax.random.PRNGKey(0)
    for step in range(steps):
        key, now = jax.random.split(key)
        params, loss = svi_step(params, features, labels, now)
        if step % 50 == 0:
            print(step, float(loss))


fit(int(os.environ.get("STEPS", 1500)))
