"""Arrival times of freight trains: data parallel over two devices, gradients of several microbatches a step."""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from jax.sharding import NamedSharding, PartitionSpec as P

STATIONS, STOPS, SENSORS, MICRO, ROWS = 600, 24, 40, 8, 8  # ROWS of a microbatch on each device
WARMUP, RECORDED = 6, 10


class Arrival(nn.Module):
    @nn.compact
    def __call__(self, route, sensors):
        x = nn.Embed(STATIONS, 48)(route).reshape(route.shape[0], -1)
        x = jnp.concatenate([x, sensors], -1)
        for width in (1024, 1024, 512):
            h = nn.gelu(nn.Dense(width)(nn.LayerNorm()(x)))
            x = h + x if h.shape == x.shape else h
        return nn.Dense(STOPS)(x)


def make_trips(rng, count):
    route = rng.integers(0, STATIONS, (count, STOPS)).astype(np.int32)
    sensors = rng.normal(size=(count, SENSORS)).astype(np.float32)
    leg = 0.2 + (route % 17) / 17 + 0.1 * sensors[:, :1]
    return route, sensors, np.cumsum(leg, 1).astype(np.float32)


def make_step(model, optimizer, mesh, args):
    def loss_of(params, route, sensors, hours):
        return jnp.mean(optax.huber_loss(model.apply(params, route, sensors), hours))

    def local_grads(params, micro):
        loss, grads = jax.value_and_grad(loss_of)(params, *micro)
        if args.fault:
            grads = jax.lax.pmean(grads, "data")
        return loss, grads

    @partial(
        jax.shard_map, mesh=mesh, in_specs=(P(), P(None, "data")), out_specs=(P(), P()), check_vma=False
    )
    def accumulate(params, batch):
        def add(total, micro):
            return jax.tree.map(jnp.add, total, local_grads(params, micro)), None

        start = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
        (loss, grads), _ = jax.lax.scan(add, start, batch)
        if not args.fault:
            grads = jax.lax.pmean(grads, "data")
        return jax.lax.pmean(loss, "data") / MICRO, jax.tree.map(lambda g: g / MICRO, grads)

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params, opt_state, batch):
        loss, grads = accumulate(params, batch)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    mesh = jax.make_mesh((2,), ("data",))
    rng = np.random.default_rng(0)
    trips = make_trips(rng, 6000)

    model = Arrival()
    params = model.init(jax.random.key(0), trips[0][:2], trips[1][:2])
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(1e-2, momentum=0.9))
    params = jax.device_put(params, NamedSharding(mesh, P()))
    opt_state = jax.device_put(optimizer.init(params), NamedSharding(mesh, P()))
    step = make_step(model, optimizer, mesh, args)
    split = NamedSharding(mesh, P(None, "data"))

    def draw():
        rows = rng.integers(0, len(trips[0]), (MICRO, 2 * ROWS))
        return jax.device_put(tuple(x[rows] for x in trips), split)

    for _ in range(WARMUP):
        params, opt_state, loss = step(params, opt_state, draw())
    print("loss", float(loss))

    jax.profiler.start_trace(args.logdir)
    for _ in range(RECORDED):
        params, opt_state, loss = step(params, opt_state, draw())
    jax.block_until_ready(loss)
    jax.profiler.stop_trace()
    print("loss", float(loss))


if __name__ == "__main__":
    main()
