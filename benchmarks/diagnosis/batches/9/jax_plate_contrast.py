"""Contrastive embeddings of microplate wells over two devices; the negatives come from both."""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training import train_state
from jax.sharding import NamedSharding, PartitionSpec as P

SIDE, PATCH, STAINS, WELLS, BATCH = 32, 8, 5, 1200, 64
WARMUP, RECORDED = 6, 10


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x):
        rows, patch = x.shape[0], SIDE // PATCH
        x = x.reshape(rows, patch, PATCH, patch, PATCH, STAINS).swapaxes(2, 3).reshape(rows, patch * patch, -1)
        x = nn.Dense(192)(x)
        for _ in range(2):
            mixed = nn.Dense(x.shape[1])(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x).swapaxes(1, 2))))
            x = x + mixed.swapaxes(1, 2)
            x = x + nn.Dense(192)(nn.gelu(nn.Dense(384)(nn.LayerNorm()(x))))
        x = nn.Dense(64)(nn.LayerNorm()(x).mean(1))
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def make_wells(rng):
    y, x = np.mgrid[0:1 : SIDE * 1j, 0:1 : SIDE * 1j].astype(np.float32)
    phase = rng.uniform(0, 6, (WELLS, 1, 1, STAINS)).astype(np.float32)
    pitch = rng.uniform(4, 20, (WELLS, 1, 1, STAINS)).astype(np.float32)
    return (np.sin(pitch * x[None, :, :, None] + phase) * np.cos(pitch * y[None, :, :, None])).astype(np.float32)


def augment(key, wells):
    flip_key, gain_key, noise_key = jax.random.split(key, 3)
    flips = jax.random.bernoulli(flip_key, 0.5, (len(wells), 1, 1, 1))
    gain = jax.random.uniform(gain_key, (len(wells), 1, 1, STAINS), minval=0.7, maxval=1.3)
    wells = jnp.where(flips, wells[:, :, ::-1], wells) * gain
    return wells + 0.05 * jax.random.normal(noise_key, wells.shape)


def make_step(mesh):
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P()), out_specs=(P(), P()), check_vma=False)
    def grads_of(state, wells, key):
        me = jax.lax.axis_index("data")
        first, second = jax.random.split(jax.random.fold_in(key, me))

        def loss_of(params):
            views = jnp.concatenate([augment(first, wells), augment(second, wells)])
            one, two = jnp.split(state.apply_fn(params, views), 2)
            every = jax.lax.all_gather(two, "data", tiled=True)
            logits = one @ every.T / 0.1
            label = me * len(wells) + jnp.arange(len(wells))
            return optax.softmax_cross_entropy_with_integer_labels(logits, label).mean()

        loss, grads = jax.value_and_grad(loss_of)(state.params)
        return jax.lax.pmean((loss, grads), "data")

    @partial(jax.jit, donate_argnums=0)
    def step(state, wells, key):
        loss, grads = grads_of(state, wells, key)
        return state.apply_gradients(grads=grads), loss

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    mesh = jax.make_mesh((2,), ("data",))
    rng = np.random.default_rng(0)
    wells = make_wells(rng)
    encoder = Encoder()
    params = encoder.init(jax.random.key(0), wells[:2])
    state = train_state.TrainState.create(apply_fn=encoder.apply, params=params, tx=optax.adamw(1e-3))
    state = jax.device_put(state, NamedSharding(mesh, P()))
    step = make_step(mesh)

    def batches():
        while True:
            order = rng.permutation(WELLS)
            for start in range(0, WELLS - BATCH + 1, BATCH):
                yield jax.device_put(wells[order[start : start + BATCH]], NamedSharding(mesh, P("data")))

    stream = batches()
    keys = jax.random.split(jax.random.key(1), WARMUP + RECORDED)
    for key in keys[:WARMUP]:
        state, loss = step(state, next(stream), key)
    print("loss", float(loss))

    jax.profiler.start_trace(args.logdir)
    for number, key in enumerate(keys[WARMUP:]):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            state, loss = step(state, next(stream), key)
    jax.block_until_ready(loss)
    jax.profiler.stop_trace()
    print("loss", float(loss))


if __name__ == "__main__":
    main()
