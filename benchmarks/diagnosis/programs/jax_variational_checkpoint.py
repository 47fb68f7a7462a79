"""Trains a variational autoencoder of spectra and keeps its weights in a file, after each step or at the end."""

import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

BATCH, CHANNELS, LATENT = 512, 700, 16
STEPS = 14


def dense(random, inputs, outputs):
    return jnp.asarray(random.normal(0, 0.05, (inputs, outputs)), jnp.float32)


def loss_fn(params, spectra, key):
    hidden = jnp.tanh(spectra @ params["inner"])
    mean, spread = hidden @ params["mean"], hidden @ params["spread"]
    latent = mean + jnp.exp(spread) * jax.random.normal(key, mean.shape)
    restored = jnp.tanh(latent @ params["outer"]) @ params["out"]
    divergence = 0.5 * (mean**2 + jnp.exp(2 * spread) - 1) - spread
    return jnp.mean((restored - spectra) ** 2) + 1e-3 * jnp.mean(divergence)


@jax.jit
def train_step(params, spectra, key):
    key, now = jax.random.split(key)
    gradients = jax.grad(loss_fn)(params, spectra, now)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), key


def save(file, params):
    with file.open("wb") as target:
        np.savez_compressed(target, **{name: np.asarray(weights) for name, weights in params.items()})


def main(logdir, faulty):
    random = np.random.default_rng(6)
    params = {
        "inner": dense(random, CHANNELS, 384),
        "mean": dense(random, 384, LATENT),
        "spread": dense(random, 384, LATENT),
        "outer": dense(random, LATENT, 384),
        "out": dense(random, 384, CHANNELS),
    }
    spectra = jnp.asarray(random.random((BATCH, CHANNELS), np.float32))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.npz"

        def train(params, key, steps):
            for number in range(steps):
                with jax.profiler.StepTraceAnnotation("vae", step_num=number):
                    params, key = train_step(params, spectra, key)
                    if faulty:
                        save(file, params)
            jax.block_until_ready(params)
            return params, key

        params, key = train(params, jax.random.key(0), 3)
        with jax.profiler.trace(logdir):
            params, key = train(params, key, STEPS)
        save(file, params)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
