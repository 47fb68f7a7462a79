import os
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.stats import norm


class SVIState(NamedTuple):
    step: jax.Array
    params: Any
    optim_state: Any
    rng_key: jax.Array


def model_log_density(latent, X, y):
    w, b, log_sigma = latent["w"], latent["b"], latent["log_sigma"]
    prior = norm.logpdf(w).sum() + norm.logpdf(b) + norm.logpdf(log_sigma)
    return prior + norm.logpdf(y, X @ w + b, jnp.exp(log_sigma)).sum()


class AutoNormal:
    def __init__(self, dim):
        self.template = {"w": jnp.zeros(dim), "b": jnp.zeros(()), "log_sigma": jnp.zeros(())}

    def init(self):
        return {"loc": self.template, "log_scale": jax.tree.map(lambda x: x - 2.0, self.template)}

    def sample(self, params, key):
        leaves, treedef = jax.tree.flatten(params["loc"])
        noise = treedef.unflatten([jax.random.normal(k, x.shape) for k, x in zip(jax.random.split(key, len(leaves)), leaves)])
        latent = jax.tree.map(lambda m, s, e: m + jnp.exp(s) * e, params["loc"], params["log_scale"], noise)
        return latent, sum(s.sum() for s in jax.tree.leaves(params["log_scale"]))


class SVI:
    def __init__(self, log_density, guide, optim):
        self.log_density, self.guide, self.optim = log_density, guide, optim

    def init(self, rng_key):
        params = self.guide.init()
        return SVIState(jnp.array(0), params, self.optim.init(params), rng_key)

    def update(self, svi_state, *args):
        rng_key, key = jax.random.split(svi_state.rng_key)

        def negative_elbo(params):
            latent, entropy = self.guide.sample(params, key)
            return -self.log_density(latent, *args) - entropy

        loss, grads = jax.value_and_grad(negative_elbo)(svi_state.params)
        updates, optim_state = self.optim.update(grads, svi_state.optim_state)
        return SVIState(svi_state.step + 1, optax.apply_updates(svi_state.params, updates), optim_state, rng_key), loss

    def run(self, rng_key, num_steps, *args):
        def body_fn(svi_state):
            return self.update(svi_state, *args)

        svi_state, losses = self.init(rng_key), []
        batch = max(num_steps // 20, 1)
        for i in range(1, num_steps + 1):
            svi_state, loss = jax.jit(body_fn)(svi_state)
            losses.append(jax.device_get(loss))
            if i % batch == 0:
                avg_loss = sum(losses[i - batch :]) / batch
                print(f"{100 * i // num_steps}% init loss: {losses[0]:.4f}, avg. loss [{i - batch + 1}-{i}]: {avg_loss:.4f}", flush=True)
        return svi_state, jnp.array(np.stack(losses))


rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3)).astype("float32")
y = (X @ np.array([1.0, -2.0, 0.5]) + 0.3 + 0.2 * rng.normal(size=100)).astype("float32")
svi = SVI(model_log_density, AutoNormal(3), optax.adam(1e-3))
svi_state, losses = svi.run(jax.random.key(1), int(os.environ.get("STEPS", 25000)), jnp.asarray(X), jnp.asarray(y))
print("w", svi_state.params["loc"]["w"], "last loss", float(losses[-1]))
