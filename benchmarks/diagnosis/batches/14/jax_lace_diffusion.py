"""A small denoising diffusion model of bobbin-lace grounds (flax nnx, batches from grain)."""
import argparse
from functools import partial

import grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

SIDE = 32
BATCH = 16
LEVELS = 400
AVERAGE = 0.999


class Grounds:
    """Larger drawings of repeating threads, from which crops are taken."""

    def __init__(self, n=160, side=64):
        rng = np.random.default_rng(14)
        y, x = np.mgrid[:side, :side]
        self.drawings = np.empty((n, side, side), np.uint8)
        for i in range(n):
            period = rng.uniform(6, 12)
            turn = rng.uniform(0, np.pi / 2)
            u = (x * np.cos(turn) + y * np.sin(turn)) / period
            v = (y * np.cos(turn) - x * np.sin(turn)) / period
            threads = np.maximum(np.cos(2 * np.pi * (u + 0.3 * np.sin(2 * np.pi * v))), np.cos(2 * np.pi * (u - v)))
            holes = np.hypot(u % 1 - 0.5, v % 1 - 0.5) < rng.uniform(0.1, 0.3)
            self.drawings[i] = np.where(holes, 0, 255 * (threads > 0.6))

    def __len__(self):
        return len(self.drawings)

    def __getitem__(self, i):
        return self.drawings[i]


def crop(drawing, rng):
    y, x = rng.integers(0, drawing.shape[0] - SIDE + 1, 2)
    piece = drawing[y : y + SIDE, x : x + SIDE]
    if rng.random() < 0.5:
        piece = piece[:, ::-1]
    return piece[..., None].astype(np.float32) / 127.5 - 1


def batches():
    data = grain.MapDataset.source(Grounds()).seed(14).shuffle().repeat().random_map(crop).batch(BATCH)
    options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=4)
    return iter(data.to_iter_dataset(options))


class Residual(nnx.Module):
    def __init__(self, width_in, width, rngs):
        self.norm = nnx.GroupNorm(width_in, num_groups=8, rngs=rngs)
        self.first = nnx.Conv(width_in, width, (3, 3), rngs=rngs)
        self.level = nnx.Linear(64, width, rngs=rngs)
        self.second = nnx.Conv(width, width, (3, 3), rngs=rngs)
        self.skip = nnx.Conv(width_in, width, (1, 1), rngs=rngs)

    def __call__(self, x, level):
        y = self.first(nnx.silu(self.norm(x)))
        y = self.second(nnx.silu(y + self.level(level)[:, None, None]))
        return self.skip(x) + y


class Denoiser(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Linear(32, 64, rngs=rngs)
        self.enter = nnx.Conv(1, 24, (3, 3), rngs=rngs)
        self.down = Residual(24, 24, rngs)
        self.shrink = nnx.Conv(24, 48, (3, 3), strides=2, rngs=rngs)
        self.deep = Residual(48, 48, rngs)
        self.up = Residual(72, 24, rngs)
        self.leave = nnx.Conv(24, 1, (3, 3), rngs=rngs)

    def __call__(self, x, t):
        angle = t[:, None] * jnp.exp(-jnp.linspace(0, 6, 16))
        level = nnx.silu(self.embed(jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1)))
        a = self.down(self.enter(x), level)
        b = self.deep(self.shrink(a), level)
        b = jax.image.resize(b, (*a.shape[:3], b.shape[-1]), "nearest")
        return self.leave(nnx.silu(self.up(jnp.concatenate([a, b], -1), level)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    graph, params = nnx.split(Denoiser(nnx.Rngs(14)), nnx.Param)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-4))
    state = (params, jax.tree.map(jnp.copy, params), tx.init(params))
    kept = jnp.asarray(np.cumprod(1 - np.linspace(1e-4, 0.03, LEVELS)), jnp.float32)

    @partial(jax.jit, donate_argnums=0)
    def train_step(state, pieces, key):
        params, average, opt_state = state
        k1, k2 = jax.random.split(key)
        t = jax.random.randint(k1, (BATCH,), 0, LEVELS)
        noise = jax.random.normal(k2, pieces.shape)
        share = kept[t][:, None, None, None]
        noisy = jnp.sqrt(share) * pieces + jnp.sqrt(1 - share) * noise

        def loss_fn(params):
            return jnp.mean((nnx.merge(graph, params)(noisy, t.astype(jnp.float32)) - noise) ** 2)

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = tx.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        average = optax.incremental_update(params, average, 1 - AVERAGE)
        return (params, average, opt_state), loss

    pieces = batches()
    key = jax.random.key(14)
    losses = []
    for step in range(20):
        if step == 8:
            jax.block_until_ready(state)
            jax.profiler.start_trace(args.logdir)
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            state, loss = train_step(state, next(pieces), jax.random.fold_in(key, step))
        losses.append(loss)
    jax.block_until_ready(state)
    jax.profiler.stop_trace()
    print(f"loss {np.mean(jax.device_get(losses)[-5:]):.4f}")


if __name__ == "__main__":
    main()
