"""Convolution-free beta-VAE on drawn glyphs, Equinox, with KL warm-up."""
import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

SIDE = 28
LATENT = 24
BATCH = 1024
STAGE = 16


def glyphs(n, seed):
    """Random arcs and bars on a small canvas."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:SIDE, :SIDE] / SIDE
    cx, cy = rng.uniform(0.3, 0.7, (2, n, 1, 1))
    radius = rng.uniform(0.1, 0.3, (n, 1, 1))
    ring = np.exp(-(((xx - cx) ** 2 + (yy - cy) ** 2) ** 0.5 - radius) ** 2 / 0.002)
    angle = rng.uniform(0, np.pi, (n, 1, 1))
    bar = np.exp(-((xx - cx) * np.cos(angle) + (yy - cy) * np.sin(angle)) ** 2 / 0.002)
    return np.clip(ring + 0.7 * bar, 0, 1).reshape(n, -1).astype(np.float32)


class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, width, key):
        k1, k2 = jr.split(key)
        self.norm = eqx.nn.LayerNorm(width)
        self.up = eqx.nn.Linear(width, 2 * width, key=k1)
        self.down = eqx.nn.Linear(2 * width, width, key=k2)

    def __call__(self, x):
        return x + self.down(jax.nn.gelu(self.up(self.norm(x))))


class GlyphVAE(eqx.Module):
    stem: eqx.nn.Linear
    enc: list
    stats: eqx.nn.Linear
    lift: eqx.nn.Linear
    dec: list
    paint: eqx.nn.Linear

    def __init__(self, key, width=256, depth=1):
        ks = jr.split(key, 4 + 2 * depth)
        self.stem = eqx.nn.Linear(SIDE * SIDE, width, key=ks[0])
        self.stats = eqx.nn.Linear(width, 2 * LATENT, key=ks[1])
        self.lift = eqx.nn.Linear(LATENT, width, key=ks[2])
        self.paint = eqx.nn.Linear(width, SIDE * SIDE, key=ks[3])
        self.enc = [Block(width, k) for k in ks[4:4 + depth]]
        self.dec = [Block(width, k) for k in ks[4 + depth:]]

    def __call__(self, x, key):
        h = self.stem(x)
        for block in self.enc:
            h = block(h)
        mean, logvar = jnp.split(self.stats(h), 2)
        z = mean + jnp.exp(0.5 * logvar) * jr.normal(key, mean.shape)
        h = self.lift(z)
        for block in self.dec:
            h = block(h)
        return self.paint(h), mean, logvar


def elbo(model, x, key, beta):
    logits, mean, logvar = jax.vmap(model)(x, jr.split(key, x.shape[0]))
    recon = optax.sigmoid_binary_cross_entropy(logits, x).sum(-1).mean()
    kl = -0.5 * (1 + logvar - mean**2 - jnp.exp(logvar)).sum(-1).mean()
    return recon + beta * kl, (recon, kl)


def make_update(tx):
    @eqx.filter_jit
    def update(model, opt, x, key, beta):
        (loss, parts), grads = eqx.filter_value_and_grad(elbo, has_aux=True)(model, x, key, beta)
        deltas, opt = tx.update(grads, opt, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, deltas), opt, loss, parts

    return update


def beta_at(step):
    """KL weight in stages: 0.1, 0.2, ... 1.0."""
    return min(10, 1 + step // STAGE) / 10


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()

    data = glyphs(4096, 0)
    order = np.random.default_rng(1)
    key = jr.key(5)
    model = GlyphVAE(jr.key(0))
    tx = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(1e-3))
    opt = tx.init(eqx.filter(model, eqx.is_array))
    update = make_update(tx)

    def one(step, model, opt):
        rows = order.integers(0, len(data), BATCH)
        beta = beta_at(step) if args.fault else jnp.float32(beta_at(step))
        return update(model, opt, data[rows], jr.fold_in(key, step), beta)

    for step in range(10):
        model, opt, loss, parts = one(step, model, opt)
    loss.block_until_ready()

    jax.profiler.start_trace(args.logdir)
    for step in range(10, 22):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            model, opt, loss, parts = one(step, model, opt)
    loss.block_until_ready()
    jax.profiler.stop_trace()
    print(f"last loss {float(loss):.3f} recon {float(parts[0]):.3f} kl {float(parts[1]):.3f}")


if __name__ == "__main__":
    main()
