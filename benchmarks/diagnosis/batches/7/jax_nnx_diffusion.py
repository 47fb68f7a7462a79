"""A denoising model for small spectra with an exponential moving average of its weights (flax nnx)."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

STEPS = 10
BATCH = 48
LENGTH = 128
DECAY = 0.999


class Denoiser(nnx.Module):
    def __init__(self, width, rngs):
        self.inp = nnx.Linear(LENGTH + 32, width, rngs=rngs)
        self.mid1 = nnx.Linear(width, width, rngs=rngs)
        self.mid2 = nnx.Linear(width, width, rngs=rngs)
        self.mid3 = nnx.Linear(width, width, rngs=rngs)
        self.out = nnx.Linear(width, LENGTH, rngs=rngs)

    def __call__(self, noisy, t):
        angles = t[:, None] * jnp.exp(jnp.linspace(0.0, 6.0, 16))
        h = jnp.concatenate([noisy, jnp.sin(angles), jnp.cos(angles)], axis=1)
        h = nnx.silu(self.inp(h))
        for layer in (self.mid1, self.mid2, self.mid3):
            h = h + nnx.silu(layer(h))
        return self.out(h)


def diffusion_loss(model, clean, key):
    k1, k2 = jax.random.split(key)
    t = jax.random.uniform(k1, (clean.shape[0],))
    noise = jax.random.normal(k2, clean.shape)
    noisy = jnp.sqrt(1 - t)[:, None] * clean + jnp.sqrt(t)[:, None] * noise
    return jnp.mean((model(noisy, t) - noise) ** 2)


@nnx.jit
def train_step(model, optimizer, clean, key):
    loss, grads = nnx.value_and_grad(diffusion_loss)(model, clean, key)
    optimizer.update(model, grads)
    return loss


@jax.jit
def ema_on_device(ema, weights):
    return jax.tree.map(lambda e, w: DECAY * e + (1 - DECAY) * w, ema, weights)


def ema_in_numpy(ema, weights):
    weights = jax.device_get(weights)
    return jax.tree.map(lambda e, w: DECAY * e.astype(np.float64) + (1 - DECAY) * np.array(w, np.float64), ema, weights)


def main(logdir, faulty):
    rng = np.random.default_rng(19)
    spectra = np.sin(np.linspace(0, 20, LENGTH) * rng.uniform(0.5, 2, (BATCH * 16, 1))).astype(np.float32)
    model = Denoiser(1024, nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(2e-4), wrt=nnx.Param)
    ema = nnx.to_pure_dict(nnx.state(model, nnx.Param))
    if faulty:
        ema = jax.device_get(ema)
    key = jax.random.key(1)

    def train(steps, ema, key):
        for _ in range(steps):
            key, sub = jax.random.split(key)
            clean = spectra[rng.integers(0, len(spectra), BATCH)]
            loss = train_step(model, optimizer, clean, sub)
            weights = nnx.to_pure_dict(nnx.state(model, nnx.Param))
            ema = ema_in_numpy(ema, weights) if faulty else ema_on_device(ema, weights)
        loss.block_until_ready()
        return jax.block_until_ready(ema), key

    ema, key = train(4, ema, key)
    with jax.profiler.trace(logdir):
        train(STEPS, ema, key)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
