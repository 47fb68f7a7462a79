"""Diffusion model for Roman mosaic tiles, with timesteps drawn by their recent loss (importance resampling)."""
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

LOGDIR = sys.argv[1]
FAULT = "--fault" in sys.argv[2:]

SIZE = 12
BATCH = 192
TIMESTEPS = 32
WIDTH = 16
WARMUP, RECORD = 7, 10

BETAS = jnp.linspace(1e-3, 0.2, TIMESTEPS)
ALPHA_BAR = jnp.cumprod(1 - BETAS)


class Block(eqx.Module):
    first: eqx.nn.Conv2d
    second: eqx.nn.Conv2d
    norm: eqx.nn.GroupNorm
    time: eqx.nn.Linear

    def __init__(self, key):
        a, b, c = jax.random.split(key, 3)
        self.first = eqx.nn.Conv2d(WIDTH, WIDTH, 3, padding=1, key=a)
        self.second = eqx.nn.Conv2d(WIDTH, WIDTH, 3, padding=1, key=b)
        self.norm = eqx.nn.GroupNorm(8, WIDTH)
        self.time = eqx.nn.Linear(32, WIDTH, key=c)

    def __call__(self, x, emb):
        h = jax.nn.silu(self.first(self.norm(x)) + self.time(emb)[:, None, None])
        return x + self.second(h)


class Denoiser(eqx.Module):
    stem: eqx.nn.Conv2d
    blocks: list[Block]
    head: eqx.nn.Conv2d

    def __init__(self, key):
        a, b, *rest = jax.random.split(key, 4)
        self.stem = eqx.nn.Conv2d(3, WIDTH, 3, padding=1, key=a)
        self.blocks = [Block(k) for k in rest]
        self.head = eqx.nn.Conv2d(WIDTH, 3, 3, padding=1, key=b)

    def __call__(self, x, t):
        freq = jnp.exp(-jnp.arange(16) * 0.5)
        emb = jnp.concatenate([jnp.sin(t * freq), jnp.cos(t * freq)])
        x = self.stem(x)
        for block in self.blocks:
            x = block(x, emb)
        return self.head(x)


class LossAwareSampler:
    """Keeps the last losses of each timestep and draws timesteps by their second moment."""

    def __init__(self, history=10):
        self.losses = np.ones((TIMESTEPS, history))

    def sample(self, rng, n):
        weights = np.sqrt(np.mean(self.losses**2, axis=1))
        weights = 0.99 * weights / weights.sum() + 0.01 / TIMESTEPS
        return rng.choice(TIMESTEPS, n, p=weights / weights.sum()).astype(np.int32)

    def record(self, t, loss):
        self.losses[t, :-1] = self.losses[t, 1:]
        self.losses[t, -1] = loss


def add_noise(x0, t, key):
    keep = ALPHA_BAR[t][:, None, None, None]
    if FAULT:

        def diffuse(i, x):
            beta = BETAS[i]
            eps = jax.random.normal(jax.random.fold_in(key, i), x.shape)
            later = jnp.sqrt(1 - beta) * x + jnp.sqrt(beta) * eps
            return jnp.where((i <= t)[:, None, None, None], later, x)

        xt = jax.lax.fori_loop(0, TIMESTEPS, diffuse, x0)
        return xt, (xt - jnp.sqrt(keep) * x0) / jnp.sqrt(1 - keep)
    eps = jax.random.normal(key, x0.shape)
    return jnp.sqrt(keep) * x0 + jnp.sqrt(1 - keep) * eps, eps


tx = optax.adam(1e-3)


@eqx.filter_jit(donate="all-except-first")
def train_step(batch, model, opt_state):
    x0, t, key = batch
    xt, eps = add_noise(x0, t, key)

    def loss_fn(model):
        error = jax.vmap(model)(xt, t / TIMESTEPS) - eps
        each = jnp.mean(error**2, axis=(1, 2, 3))
        return each.mean(), each

    (_, each), grads = eqx.filter_value_and_grad(loss_fn, has_aux=True)(model)
    updates, opt_state = tx.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, each


def tesserae(rng, count=600):
    colours = rng.uniform(-1, 1, (8, 3))
    grid = rng.integers(0, 8, (count, SIZE // 4, SIZE // 4)).repeat(4, 1).repeat(4, 2)
    tiles = colours[grid] + rng.normal(0, 0.08, (count, SIZE, SIZE, 3))
    return np.ascontiguousarray(tiles.transpose(0, 3, 1, 2), np.float32)


def main():
    rng = np.random.default_rng(5)
    tiles = tesserae(rng)
    model = Denoiser(jax.random.key(5))
    opt_state = tx.init(eqx.filter(model, eqx.is_array))
    sampler = LossAwareSampler()

    for step in range(WARMUP + RECORD):
        if step == WARMUP:
            jax.profiler.start_trace(LOGDIR)
        with jax.profiler.StepTraceAnnotation("diffusion", step_num=step):
            x0 = jnp.asarray(tiles[rng.integers(0, len(tiles), BATCH)])
            t = jnp.asarray(sampler.sample(rng, BATCH))
            model, opt_state, losses = train_step((x0, t, jax.random.key(step)), model, opt_state)
            if not FAULT:
                t, losses = np.asarray(t), np.asarray(losses)
            for i in range(BATCH):
                sampler.record(int(t[i]), float(losses[i]))
    jax.profiler.stop_trace()
    print("loss", sampler.losses[:, -1].mean())


if __name__ == "__main__":
    main()
