"""Denoising diffusion of dune height maps: a small UNet with flax, moving average of the weights, orbax checkpoints."""
import argparse
import math
import queue
import shutil
import tempfile
import threading
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import struct

SIDE, BATCH, LEVELS = 32, 16, 500


class ResBlock(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, emb):
        h = nn.Conv(self.width, (3, 3))(nn.silu(nn.GroupNorm(8)(x)))
        h = h + nn.Dense(self.width)(nn.silu(emb))[:, None, None]
        h = nn.Conv(self.width, (3, 3), kernel_init=nn.initializers.zeros)(nn.silu(nn.GroupNorm(8)(h)))
        return h + (x if x.shape[-1] == self.width else nn.Conv(self.width, (1, 1))(x))


class UNet(nn.Module):
    widths: tuple = (32, 48, 64)

    @nn.compact
    def __call__(self, x, level):
        freqs = jnp.exp(-math.log(1e4) * jnp.arange(32) / 32)
        angles = level[:, None] * freqs
        emb = nn.Dense(128)(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1))
        x, skips = nn.Conv(self.widths[0], (3, 3))(x), []
        for width in self.widths:
            x = ResBlock(width)(x, emb)
            skips.append(x)
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        x = ResBlock(self.widths[-1])(x, emb)
        for width, skip in zip(reversed(self.widths), reversed(skips)):
            x = jax.image.resize(x, skip.shape[:3] + x.shape[3:], "nearest")
            x = ResBlock(width)(jnp.concatenate([x, skip], axis=-1), emb)
        return nn.Conv(1, (3, 3))(nn.silu(nn.GroupNorm(8)(x)))


class State(struct.PyTreeNode):
    step: jax.Array
    params: Any
    average: Any
    opt_state: Any
    key: jax.Array


def height_maps(seed):
    rng = np.random.default_rng(seed)
    xx = np.linspace(0, 1, SIDE, dtype=np.float32)
    while True:
        wind, scale = rng.uniform(0, np.pi, (BATCH, 1, 1)), rng.uniform(2, 6, (BATCH, 1, 1))
        ridge = np.sin(2 * np.pi * scale * (xx[:, None] * np.cos(wind) + xx * np.sin(wind)) + rng.normal(size=(BATCH, 1, 1)))
        yield (np.abs(ridge) - 0.6 + 0.05 * rng.normal(size=(BATCH, SIDE, SIDE))).astype(np.float32)[..., None]


def on_device(batches, ahead=2):
    ready = queue.Queue(maxsize=ahead)

    def fill():
        for batch in batches:
            ready.put(jax.device_put(batch))

    threading.Thread(target=fill, daemon=True).start()
    while True:
        yield ready.get()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    model = UNet()
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0, 3e-4, 500, 50_000)))
    cosine = jnp.cos((jnp.arange(LEVELS) / LEVELS + 0.008) / 1.008 * jnp.pi / 2) ** 2
    alpha_bar = jnp.clip(cosine / cosine[0], 1e-4, 0.9999)

    def train_step(state, clean):
        key, level_key, noise_key = jax.random.split(state.key, 3)
        level = jax.random.randint(level_key, (BATCH,), 0, LEVELS)
        noise = jax.random.normal(noise_key, clean.shape)
        signal = alpha_bar[level][:, None, None, None]
        noisy = jnp.sqrt(signal) * clean + jnp.sqrt(1 - signal) * noise

        def loss_fn(params):
            return jnp.mean(jnp.square(model.apply(params, noisy, level.astype(jnp.float32)) - noise))

        loss, grads = jax.value_and_grad(loss_fn)(state.params)
        updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        average = optax.incremental_update(params, state.average, 0.001)
        return State(state.step + 1, params, average, opt_state, key), loss

    step_fn = jax.jit(train_step, donate_argnums=0)
    batches = on_device(height_maps(0))
    params = jax.jit(model.init)(jax.random.key(0), next(batches), jnp.zeros((BATCH,)))
    state = State(jnp.int32(0), params, jax.tree.map(jnp.copy, params), optimizer.init(params), jax.random.PRNGKey(1))

    folder = tempfile.mkdtemp(prefix="dunes")
    options = ocp.CheckpointManagerOptions(save_interval_steps=1000, max_to_keep=2, enable_async_checkpointing=True)
    with ocp.CheckpointManager(folder, options=options) as manager:
        for step in range(1, 33):
            if step == 21:
                jax.block_until_ready(state)
                jax.profiler.start_trace(args.logdir)
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                state, loss = step_fn(state, next(batches))
                manager.save(step, args=ocp.args.StandardSave(state))
            if step == 32:
                loss.block_until_ready()
                jax.profiler.stop_trace()
        manager.save(step, args=ocp.args.StandardSave(state), force=True)
        manager.wait_until_finished()
    shutil.rmtree(folder, ignore_errors=True)
    print(f"loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
