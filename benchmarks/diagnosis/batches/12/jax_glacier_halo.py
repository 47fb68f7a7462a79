"""Fits the basal friction of an ice sheet: a small network feeds a shallow-ice solver, rows split over the devices."""
import os
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

LOGDIR = sys.argv[1]
FAULT = "--fault" in sys.argv[2:]

GLACIERS, ROWS, COLS, BED = 2, 128, 128, 6
TICKS = 16
WIDTH = 12
DEVICES = 2
WARMUP, RECORD = 6, 10

mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("y",))


def init(key):
    sizes = [BED, WIDTH, WIDTH, WIDTH, 1]
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"w": jax.random.normal(k, (3, 3, i, o)) * (2 / (9 * i)) ** 0.5, "b": jnp.zeros(o)}
        for k, i, o in zip(keys, sizes[:-1], sizes[1:])
    ]


def with_halo(field):
    """Adds the neighbour's row above and below; the outermost rows of the domain are repeated."""
    here = jax.lax.axis_index("y")
    if FAULT:
        whole = jax.lax.all_gather(field, "y", axis=1, tiled=True)
        whole = jnp.concatenate([whole[:, :1], whole, whole[:, -1:]], axis=1)
        rows = field.shape[1]
        return jax.lax.dynamic_slice_in_dim(whole, here * rows, rows + 2, axis=1)
    below = jax.lax.ppermute(field[:, -1:], "y", [(i, i + 1) for i in range(DEVICES - 1)])
    above = jax.lax.ppermute(field[:, :1], "y", [(i + 1, i) for i in range(DEVICES - 1)])
    top = jnp.where(here == 0, field[:, :1], below)
    bottom = jnp.where(here == DEVICES - 1, field[:, -1:], above)
    return jnp.concatenate([top, field, bottom], axis=1)


def friction(params, bed):
    x = bed
    for i, layer in enumerate(params):
        x = jax.lax.conv_general_dilated(
            with_halo(x), layer["w"], (1, 1), ((0, 0), (1, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = x + layer["b"]
        x = jax.nn.gelu(x) if i < len(params) - 1 else x
    return jax.nn.softplus(x[..., 0])


def flow(thickness, base, slide):
    def tick(h, _):
        s = with_halo(h + base)
        s = jnp.pad(s, ((0, 0), (0, 0), (1, 1)), mode="edge")
        d = 0.04 * slide * jnp.clip(h, 0.0) ** 2
        lap = s[:, 2:, 1:-1] + s[:, :-2, 1:-1] + s[:, 1:-1, 2:] + s[:, 1:-1, :-2] - 4 * s[:, 1:-1, 1:-1]
        return jnp.clip(h + d * lap + 1e-3, 0.0), None

    return jax.lax.scan(tick, thickness, None, length=TICKS)[0]


def loss_fn(params, bed, thickness, base, seen):
    out = flow(thickness, base, friction(params, bed))
    return jnp.mean((out - seen) ** 2)


tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-3))
split = P(None, "y")


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, opt_state, bed, thickness, base, seen):
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), split, split, split, split), out_specs=(P(), P()), check_vma=False)
    def value_and_grad(params, *fields):
        loss, grads = jax.value_and_grad(loss_fn)(params, *fields)
        return jax.lax.pmean((loss, grads), "y")

    loss, grads = value_and_grad(params, bed, thickness, base, seen)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def main():
    rng = np.random.default_rng(4)
    yy, xx = np.mgrid[:ROWS, :COLS] / ROWS
    bed = rng.normal(0, 1, (GLACIERS, ROWS, COLS, BED)).astype(np.float32)
    base = np.repeat((0.6 * yy + 0.1 * np.sin(6 * xx))[None], GLACIERS, 0).astype(np.float32)
    thickness = np.clip(0.8 - (yy - 0.5) ** 2 - (xx - 0.5) ** 2, 0, None)[None] * rng.uniform(0.6, 1, (GLACIERS, 1, 1))
    thickness = thickness.astype(np.float32)
    seen = (thickness * 0.97 + rng.normal(0, 0.01, thickness.shape)).astype(np.float32)
    fields = [jax.device_put(f, NamedSharding(mesh, split)) for f in (bed, thickness, base, seen)]
    params = jax.device_put(init(jax.random.key(0)), NamedSharding(mesh, P()))
    opt_state = jax.device_put(tx.init(params), NamedSharding(mesh, P()))

    for _ in range(WARMUP):
        params, opt_state, loss = train_step(params, opt_state, *fields)
    print("warm", float(loss))
    with jax.profiler.trace(LOGDIR):
        for step in range(RECORD):
            with jax.profiler.StepTraceAnnotation("fit", step_num=step):
                params, opt_state, loss = train_step(params, opt_state, *fields)
                loss.block_until_ready()
    print("misfit", float(loss))


if __name__ == "__main__":
    main()
