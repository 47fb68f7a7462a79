"""Beta-VAE of single-cell expression profiles, with equinox."""
import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

GENES, WIDTH, LATENT, BATCH = 2000, 640, 32, 384
WARMUP, RECORDED = 8, 12


def make_cells(rng, count):
    """Log counts of cells that follow a few expression programs."""
    programs = rng.gamma(0.3, 1.0, (12, GENES))
    use = rng.dirichlet(np.full(12, 0.4), count)
    depth = rng.lognormal(0, 0.3, (count, 1))
    return np.log1p(rng.poisson(3 * depth * (use @ programs))).astype(np.float32)


class Encoder(eqx.Module):
    hidden: eqx.nn.MLP
    norm: eqx.nn.LayerNorm
    head: eqx.nn.Linear

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.hidden = eqx.nn.MLP(GENES, WIDTH, WIDTH, 2, activation=jax.nn.silu, key=first)
        self.norm = eqx.nn.LayerNorm(WIDTH)
        self.head = eqx.nn.Linear(WIDTH, 2 * LATENT, key=second)

    def __call__(self, x):
        return jnp.split(self.head(self.norm(self.hidden(x))), 2)


class VAE(eqx.Module):
    encoder: Encoder
    decoder: eqx.nn.MLP

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.encoder = Encoder(first)
        self.decoder = eqx.nn.MLP(LATENT, GENES, WIDTH, 3, activation=jax.nn.silu, key=second)

    def __call__(self, x, key):
        mean, logvar = self.encoder(x)
        z = mean + jnp.exp(0.5 * logvar) * jax.random.normal(key, mean.shape)
        kl = 0.5 * jnp.sum(jnp.exp(logvar) + mean**2 - 1 - logvar)
        return self.decoder(z), kl


def loss_of(model, cells, key, beta):
    recon, kl = jax.vmap(model)(cells, jax.random.split(key, len(cells)))
    return jnp.mean(jnp.sum((recon - cells) ** 2, -1) + beta * kl)


optimizer = optax.adam(1e-3)


@eqx.filter_jit(donate="all-except-first")
def train_step(cells, model, opt_state, key, beta):
    loss, grads = eqx.filter_value_and_grad(loss_of)(model, cells, key, beta)
    updates, opt_state = optimizer.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, loss


def beta_at(step):
    """Raised in small plateaus so that the posterior does not collapse."""
    return min(4.0, 0.25 * (1 + step // 6))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    cells = make_cells(rng, 2000)
    model = VAE(jax.random.key(0))
    opt_state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    losses = []

    def run(first, count, model, opt_state):
        for step in range(first, first + count):
            batch = cells[rng.integers(0, len(cells), BATCH)]
            beta = beta_at(step) if args.fault else jnp.asarray(beta_at(step), jnp.float32)
            key = jax.random.fold_in(jax.random.key(1), step)
            model, opt_state, loss = train_step(batch, model, opt_state, key, beta)
            losses.append(loss)
        jax.block_until_ready(loss)
        return model, opt_state

    model, opt_state = run(0, WARMUP, model, opt_state)
    with jax.profiler.trace(args.logdir):
        model, opt_state = run(WARMUP, RECORDED, model, opt_state)
    print("loss", float(losses[0]), "->", float(losses[-1]))


if __name__ == "__main__":
    main()
