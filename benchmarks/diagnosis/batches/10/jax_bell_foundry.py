"""Variational autoencoder on the strike spectra of cast bells; its latent space sorts bells by tuning."""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

FRAMES = 64
BINS = 96
LATENT = 16
BATCH = 48
ANNEAL_EVERY = 10
ANNEAL_STEPS = 60
WARMUP, RECORDED = 8, 12


def strike_spectra(count, seed=8):
    """Log magnitude of a strike: partials of a bell (hum, prime, tierce, quint, nominal) that decay."""
    rng = np.random.default_rng(seed)
    pitch = rng.uniform(12, 26, (count, 1))
    partials = pitch * np.array([[0.5, 1.0, 1.2, 1.5, 2.0, 2.67]]) * rng.normal(1, 0.01, (count, 6))
    decay = rng.uniform(0.01, 0.08, (count, 6))
    time = np.arange(FRAMES)[None, :, None, None]
    bins = np.arange(BINS)[None, None, :, None]
    peaks = np.exp(-0.5 * (bins - partials[:, None, None]) ** 2 - decay[:, None, None] * time)
    spectra = np.log1p(20 * peaks.sum(-1)) + 0.05 * rng.standard_normal((count, FRAMES, BINS))
    return np.moveaxis(spectra, 1, 2).astype(np.float32)  # bins are channels


class Block(eqx.Module):
    conv1: eqx.nn.Conv1d
    conv2: eqx.nn.Conv1d

    def __init__(self, width, key):
        k1, k2 = jax.random.split(key)
        self.conv1 = eqx.nn.Conv1d(width, width, 5, padding=2, key=k1)
        self.conv2 = eqx.nn.Conv1d(width, width, 5, padding=2, key=k2)

    def __call__(self, x):
        return x + self.conv2(jax.nn.gelu(self.conv1(jax.nn.gelu(x))))


class BellVAE(eqx.Module):
    stem: eqx.nn.Conv1d
    encoder: list
    to_latent: eqx.nn.Linear
    from_latent: eqx.nn.Linear
    decoder: list
    head: eqx.nn.Conv1d

    def __init__(self, width, key):
        keys = iter(jax.random.split(key, 8))
        self.stem = eqx.nn.Conv1d(BINS, width, 3, padding=1, key=next(keys))
        self.encoder = [Block(width, next(keys)) for _ in range(1)]
        self.to_latent = eqx.nn.Linear(width, 2 * LATENT, key=next(keys))
        self.from_latent = eqx.nn.Linear(LATENT, width * FRAMES // 4, key=next(keys))
        self.decoder = [Block(width, next(keys)) for _ in range(1)]
        self.head = eqx.nn.Conv1d(width, BINS, 3, padding=1, key=next(keys))

    def __call__(self, x, key):
        h = self.stem(x)
        for block in self.encoder:
            h = block(h)
        mean, log_var = jnp.split(self.to_latent(h.mean(axis=1)), 2)
        z = mean + jnp.exp(0.5 * log_var) * jax.random.normal(key, mean.shape)
        h = jnp.repeat(self.from_latent(z).reshape(-1, FRAMES // 4), 4, axis=1)
        for block in self.decoder:
            h = block(h)
        return self.head(h), mean, log_var


def elbo_loss(model, x, key, beta):
    decoded, mean, log_var = jax.vmap(model)(x, jax.random.split(key, x.shape[0]))
    reconstruction = jnp.mean(jnp.square(decoded - x).sum(axis=(1, 2)))
    kl = 0.5 * jnp.mean(jnp.sum(jnp.exp(log_var) + mean**2 - 1 - log_var, axis=1))
    return reconstruction + beta * kl, kl


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    key = jax.random.key(0)
    model = BellVAE(width=96, key=key)
    optimizer = optax.chain(optax.clip_by_global_norm(10.0), optax.adam(5e-4))
    opt_state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    strikes = strike_spectra(1024)
    rng = np.random.default_rng(1)

    @eqx.filter_jit(donate="all-except-first")
    def train_step(x, model, opt_state, key, beta):
        (loss, kl), grads = eqx.filter_value_and_grad(elbo_loss, has_aux=True)(model, x, key, beta)
        updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), opt_state, loss, kl

    def beta_at(step):
        value = min(1.0, (step // ANNEAL_EVERY) * ANNEAL_EVERY / ANNEAL_STEPS)
        return value if args.fault else jnp.float32(value)

    def advance(step, model, opt_state):
        x = jnp.asarray(strikes[rng.integers(0, len(strikes), BATCH)])
        return train_step(x, model, opt_state, jax.random.fold_in(key, step), beta_at(step))

    for step in range(WARMUP):
        model, opt_state, loss, kl = advance(step, model, opt_state)
    jax.block_until_ready(loss)

    jax.profiler.start_trace(args.logdir)
    for step in range(WARMUP, WARMUP + RECORDED):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            model, opt_state, loss, kl = advance(step, model, opt_state)
    jax.block_until_ready(loss)
    jax.profiler.stop_trace()
    print(f"loss {float(loss):.2f}, kl {float(kl):.3f}")


if __name__ == "__main__":
    main()
