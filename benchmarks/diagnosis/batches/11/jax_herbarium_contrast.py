"""Contrastive pre-training on pressed plants, data-parallel over two devices with shard_map."""

import argparse
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

SIZE, BATCH, EMBED = 64, 32, 128


def sheets(rng, count=240):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32) / SIZE
    out = np.empty((count, SIZE, SIZE, 3), np.uint8)
    for i in range(count):
        bend, leaves, green = rng.uniform(0.1, 0.5), rng.uniform(8, 30), rng.uniform(80, 160)
        stem = np.abs(xx - 0.5 - bend * (yy - 0.5) ** 2)
        plant = (stem < 0.02) | (stem < 0.15 * np.abs(np.sin(leaves * yy)))
        out[i] = np.where(plant[..., None], [60, green, 50], [225, 215, 190]) + rng.integers(0, 20, (SIZE, SIZE, 1))
    return out


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.gelu(nn.Conv(32, (4, 4), strides=2)(x))
        x = x + nn.gelu(nn.Conv(32, (3, 3))(nn.LayerNorm()(x)))
        return nn.Dense(160)(x)


class Projector(nn.Module):
    @nn.compact
    def __call__(self, features):
        x = features.mean((1, 2))
        z = nn.Dense(EMBED)(nn.gelu(nn.Dense(256)(x)))
        return z / jnp.linalg.norm(z, axis=-1, keepdims=True)


def views(key, images):
    """Two random crops of the same sheet with a random exposure."""
    crop = SIZE - 8

    def one(key, image):
        place, light = jax.random.split(key)
        y, x = jax.random.randint(place, (2,), 0, SIZE - crop)
        part = lax.dynamic_slice(image, (y, x, 0), (crop, crop, 3))
        return part * jax.random.uniform(light, (), minval=0.7, maxval=1.2)

    images = images.astype(jnp.float32) / 127.5 - 1
    keys = jax.random.split(key, (2, len(images)))
    return jax.vmap(one)(keys[0], images), jax.vmap(one)(keys[1], images)


def info_nce(own, everyone, temperature=0.1):
    count = own.shape[0]
    labels = lax.axis_index("data") * count + jnp.arange(count)
    return optax.softmax_cross_entropy_with_integer_labels(own @ everyone.T / temperature, labels).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()[:2]), ("data",))
    split, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    rng = np.random.default_rng(14)
    plants = sheets(rng)
    encoder, projector = Encoder(), Projector()
    a, b = jax.random.split(jax.random.key(14))
    features = jnp.zeros((1, 28, 28, 160))
    params = {"encoder": encoder.init(a, jnp.zeros((1, 56, 56, 3))), "projector": projector.init(b, features)}
    optimizer = optax.lamb(1e-3)
    params, state = jax.device_put((params, optimizer.init(params)), whole)

    def gathered(params, images):
        features = encoder.apply(params["encoder"], images)
        if args.fault:
            everyone = projector.apply(params["projector"], lax.all_gather(features, "data", tiled=True))
            start = lax.axis_index("data") * len(images)
            return lax.dynamic_slice_in_dim(everyone, start, len(images)), everyone
        own = projector.apply(params["projector"], features)
        return own, lax.all_gather(own, "data", tiled=True)

    def shard_loss(params, images, key):
        one, other = views(jax.random.fold_in(key, lax.axis_index("data")), images)
        z1, all1 = gathered(params, one)
        z2, all2 = gathered(params, other)
        return lax.pmean(0.5 * (info_nce(z1, all2) + info_nce(z2, all1)), "data")

    loss_fn = jax.shard_map(shard_loss, mesh=mesh, in_specs=(P(), P("data"), P()), out_specs=P(), check_vma=False)

    def train_step(params, state, images, key):
        loss, grads = jax.value_and_grad(loss_fn)(params, images, key)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    train_step = jax.jit(train_step, donate_argnums=(0, 1), out_shardings=(whole, whole, whole))

    def iterate(params, state, step):
        images = jax.device_put(plants[rng.choice(len(plants), BATCH, replace=False)], split)
        return train_step(params, state, images, jax.random.key(step))

    for step in range(6):
        params, state, loss = iterate(params, state, step)
    loss.block_until_ready()
    with jax.profiler.trace(args.logdir):
        for step in range(6, 16):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                params, state, loss = iterate(params, state, step)
                loss.block_until_ready()


if __name__ == "__main__":
    main()
