"""Denoising diffusion on small rune-like glyphs with a transformer over patches (equinox)."""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

SIZE, PATCH, DIM, DEPTH, HEADS = 32, 4, 128, 4, 4
TOKENS = (SIZE // PATCH) ** 2
BATCH = 12
TIMES = 400


def draw_glyphs(count, seed=0):
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij"), -1)
    out = np.zeros((count, SIZE, SIZE), np.float32)
    for i in range(count):
        for _ in range(3):
            start, end = rng.uniform(4, SIZE - 4, (2, 2))
            along = np.clip(((grid - start) @ (end - start)) / max(np.sum((end - start) ** 2), 1e-3), 0, 1)
            away = np.linalg.norm(grid - (start + along[..., None] * (end - start)), axis=-1)
            out[i] = np.maximum(out[i], np.clip(2.5 - away, 0, 1))
    return out * 2 - 1


class Block(eqx.Module):
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    attention: eqx.nn.MultiheadAttention
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    modulate: eqx.nn.Linear

    def __init__(self, key):
        k = jax.random.split(key, 4)
        self.norm1 = eqx.nn.LayerNorm(DIM, use_weight=False, use_bias=False)
        self.norm2 = eqx.nn.LayerNorm(DIM, use_weight=False, use_bias=False)
        self.attention = eqx.nn.MultiheadAttention(HEADS, DIM, key=k[0])
        self.up = eqx.nn.Linear(DIM, 4 * DIM, key=k[1])
        self.down = eqx.nn.Linear(4 * DIM, DIM, key=k[2])
        self.modulate = eqx.nn.Linear(DIM, 4 * DIM, key=k[3])

    def __call__(self, x, cond):
        shift1, scale1, shift2, scale2 = jnp.split(self.modulate(jax.nn.silu(cond)), 4)
        h = jax.vmap(self.norm1)(x) * (1 + scale1) + shift1
        x = x + self.attention(h, h, h)
        h = jax.vmap(self.norm2)(x) * (1 + scale2) + shift2
        return x + jax.vmap(self.down)(jax.nn.gelu(jax.vmap(self.up)(h)))


class Denoiser(eqx.Module):
    embed: eqx.nn.Linear
    where: jax.Array
    when: eqx.nn.MLP
    blocks: list
    out: eqx.nn.Linear

    def __init__(self, key):
        k = jax.random.split(key, DEPTH + 4)
        self.embed = eqx.nn.Linear(PATCH * PATCH, DIM, key=k[0])
        self.where = 0.02 * jax.random.normal(k[1], (TOKENS, DIM))
        self.when = eqx.nn.MLP(64, DIM, DIM, 1, activation=jax.nn.silu, key=k[2])
        self.blocks = [Block(key) for key in k[4:]]
        self.out = eqx.nn.Linear(DIM, PATCH * PATCH, key=k[3])

    def __call__(self, image, t):
        side = SIZE // PATCH
        x = image.reshape(side, PATCH, side, PATCH).transpose(0, 2, 1, 3).reshape(TOKENS, -1)
        x = jax.vmap(self.embed)(x) + self.where
        angles = t * jnp.exp(-jnp.arange(32) * np.log(1e4) / 32)
        cond = self.when(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)]))
        for block in self.blocks:
            x = block(x, cond)
        x = jax.vmap(self.out)(x)
        return x.reshape(side, side, PATCH, PATCH).transpose(0, 2, 1, 3).reshape(SIZE, SIZE)


def make_step(optimizer, alphas):
    def loss_fn(model, images, key):
        time_key, noise_key = jax.random.split(key)
        t = jax.random.randint(time_key, (len(images),), 0, TIMES)
        noise = jax.random.normal(noise_key, images.shape)
        keep = alphas[t][:, None, None]
        noisy = jnp.sqrt(keep) * images + jnp.sqrt(1 - keep) * noise
        return jnp.mean(jnp.square(jax.vmap(model)(noisy, t.astype(jnp.float32)) - noise))

    @eqx.filter_jit(donate="all-except-first")
    def step(images, model, opt_state, ema, key):
        key, use = jax.random.split(key)
        loss, grads = eqx.filter_value_and_grad(loss_fn)(model, images, use)
        updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
        model = eqx.apply_updates(model, updates)
        ema = jax.tree.map(lambda e, p: 0.999 * e + 0.001 * p, ema, eqx.filter(model, eqx.is_inexact_array))
        return model, opt_state, ema, key, loss

    return step


def main(logdir):
    data = draw_glyphs(640)
    rng = np.random.default_rng(1)
    model = Denoiser(jax.random.key(0))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-4))
    weights = eqx.filter(model, eqx.is_inexact_array)
    opt_state, ema = optimizer.init(weights), jax.tree.map(jnp.copy, weights)
    alphas = jnp.cumprod(1 - jnp.linspace(1e-4, 0.04, TIMES))
    step, key = make_step(optimizer, alphas), jax.random.key(2)
    for number in range(18):
        if number == 7:
            jax.block_until_ready(ema)
            jax.profiler.start_trace(logdir)
        with jax.profiler.StepTraceAnnotation("denoise", step_num=number):
            images = data[rng.integers(0, len(data), BATCH)]
            model, opt_state, ema, key, loss = step(images, model, opt_state, ema, key)
    jax.block_until_ready(ema)
    jax.profiler.stop_trace()
    print("last loss", float(loss))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    main(parser.parse_args().logdir)
