import os

import jax
import jax.numpy as jnp
import numpy as np

FEATURES, HIDDEN, GROUPS, DRAWS, BATCH = 12, 16, 20, 200, 128


class ImpactModel:
    def __init__(self, kernel, posterior):
        self.kernel = kernel
        self.posterior = posterior

    def predict(self, key, x, group):
        keys = jax.random.split(key, DRAWS)
        return sample_forward(self.kernel, keys, self.posterior, {"x": x, "group": group})


def sample_forward(kernel, keys, samples, model_kwargs):
    def one_sample(inputs):
        key, sample = inputs
        sites = {}
        kernel(key, sample, sites, **model_kwargs)
        return {name: sites[name] for name in ("mu", "y")}

    return jax.lax.map(one_sample, (keys, samples))


def kernel(key, sample, sites, x, group):
    keys = jax.random.split(key, 3)
    offset = sample["group_loc"] + sample["group_scale"] * sample["offset"]
    hidden = jnp.tanh(x @ sample["w1"] + sample["b1"])
    trend = hidden @ sample["w2"] + offset[group]
    sites["mu"] = sites["trend"] = trend
    sites["scale"] = jnp.exp(0.3 * jnp.tanh(x @ sample["v"])) * sample["sigma"]
    sites["contaminated"] = jax.random.bernoulli(keys[0], sample["share"], trend.shape)
    noise = jax.random.normal(keys[1], trend.shape) * sites["scale"]
    jump = jax.random.laplace(keys[2], trend.shape) * 3.0 * sites["scale"]
    sites["y"] = trend + jnp.where(sites["contaminated"], jump, noise)


def posterior_draws(rng):
    shapes = {"w1": (FEATURES, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN,), "v": (FEATURES,), "offset": (GROUPS,), "group_loc": ()}
    draws = {k: rng.normal(size=s) + 0.1 * rng.normal(size=(DRAWS, *s)) for k, s in shapes.items()}
    draws["group_scale"] = np.exp(0.1 * rng.normal(size=DRAWS))
    draws["sigma"] = 0.5 * np.exp(0.1 * rng.normal(size=DRAWS))
    draws["share"] = rng.beta(2, 30, size=DRAWS)
    return {k: jnp.asarray(v, jnp.float32) for k, v in draws.items()}


def batches(rng, count):
    for _ in range(count):
        x = rng.normal(size=(BATCH, FEATURES)).astype(np.float32)
        group = rng.integers(0, GROUPS, BATCH)
        yield x, group, (np.tanh(x[:, 0]) + 0.1 * group + rng.normal(size=BATCH)).astype(np.float32)


def main(count):
    rng = np.random.default_rng(0)
    model = ImpactModel(kernel, posterior_draws(rng))
    key = jax.random.key(1)
    inside, error = [], []
    for number, (x, group, y) in enumerate(batches(rng, count)):
        key, subkey = jax.random.split(key)
        out = {k: np.asarray(v) for k, v in model.predict(subkey, x, group).items()}
        low, high = np.quantile(out["y"], [0.05, 0.95], axis=0)
        inside.append(np.mean((low < y) & (y < high)))
        error.append(np.sqrt(np.mean((out["mu"].mean(axis=0) - y) ** 2)))
        if number % 5 == 0:
            print(f"batch {number}: coverage {np.mean(inside):.3f} rmse {np.mean(error):.3f}", flush=True)


main(int(os.environ.get("STEPS", 35)))
