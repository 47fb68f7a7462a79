"""Forecast of the traffic of mobile radio cells with a GRU, on two devices."""
import argparse
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

HOURS = 168
FEATURES = 20
HIDDEN = 64
AHEAD = 12
BATCH = 48
CELLS = 400


def traffic(rng):
    """Hourly counters of each cell: volume, users, handovers and so on."""
    t = np.arange(24 * 40)
    kind = rng.uniform(size=(CELLS, 1))
    day = kind * np.clip(np.sin(2 * np.pi * (t - 8) / 24), 0, None) + (1 - kind) * np.exp(-(((t % 24) - 20) ** 2) / 18)
    week = np.where((t // 24) % 7 < 5, 1.0, 0.6 + 0.8 * (1 - kind))
    volume = day * week + 0.1 * rng.normal(size=(CELLS, len(t)))
    mix = rng.normal(scale=0.5, size=(FEATURES, 3))
    drivers = np.stack([volume, np.roll(volume, 1, axis=1), np.broadcast_to(np.cos(2 * np.pi * t / 24), volume.shape)], -1)
    return np.tanh(drivers @ mix.T).astype(np.float32), volume.astype(np.float32)


def init(key):
    k = jax.random.split(key, 4)
    glorot = jax.nn.initializers.glorot_normal()
    return {
        "enter": glorot(k[0], (FEATURES, HIDDEN)),
        "w_in": glorot(k[1], (3, HIDDEN, HIDDEN)),
        "w_rec": jax.nn.initializers.orthogonal()(k[2], (3, HIDDEN, HIDDEN)),
        "bias": jnp.zeros((3, HIDDEN)),
        "out": glorot(k[3], (HIDDEN, AHEAD)),
        "out_bias": jnp.zeros((AHEAD,)),
    }


def forecast(params, counters):
    x = jnp.tanh(counters @ params["enter"])
    gates_in = jnp.einsum("bth,ghk->tgbk", x, params["w_in"]) + params["bias"][:, None]

    def tick(h, g):
        reset = jax.nn.sigmoid(g[0] + h @ params["w_rec"][0])
        keep = jax.nn.sigmoid(g[1] + h @ params["w_rec"][1])
        new = jnp.tanh(g[2] + (reset * h) @ params["w_rec"][2])
        return keep * h + (1 - keep) * new, None

    h, _ = jax.lax.scan(tick, jnp.zeros((counters.shape[0], HIDDEN)), gates_in)
    return h @ params["out"] + params["out_bias"]


def loss_fn(params, counters, volume):
    return jnp.mean(optax.huber_loss(forecast(params, counters), volume))


def shardings(mesh, split_layers):
    everywhere = NamedSharding(mesh, P())
    if split_layers:
        params = {
            "enter": everywhere,
            "w_in": NamedSharding(mesh, P(None, None, "dev")),
            "w_rec": NamedSharding(mesh, P(None, None, "dev")),
            "bias": NamedSharding(mesh, P(None, "dev")),
            "out": everywhere,
            "out_bias": everywhere,
        }
        return params, everywhere
    names = ("enter", "w_in", "w_rec", "bias", "out", "out_bias")
    return dict.fromkeys(names, everywhere), NamedSharding(mesh, P("dev"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    mesh = jax.make_mesh((2,), ("dev",), axis_types=(AxisType.Auto,))
    param_sharding, batch_sharding = shardings(mesh, split_layers=args.fault)

    rng = np.random.default_rng(3)
    counters, volume = traffic(rng)
    params = jax.device_put(init(jax.random.key(3)), param_sharding)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-3))
    opt_state = jax.jit(tx.init)(params)

    @jax.jit(donate_argnums=(0, 1))
    def update(params, opt_state, counters, volume):
        loss, grads = jax.value_and_grad(loss_fn)(params, counters, volume)
        updates, opt_state = tx.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return jax.lax.with_sharding_constraint(params, param_sharding), opt_state, loss

    def batch():
        cell = rng.integers(0, CELLS, BATCH)
        start = rng.integers(0, counters.shape[1] - HOURS - AHEAD, BATCH)
        past = counters[cell[:, None], start[:, None] + np.arange(HOURS)]
        future = volume[cell[:, None], start[:, None] + HOURS + np.arange(AHEAD)]
        return jax.device_put((past, future), batch_sharding)

    for _ in range(6):
        params, opt_state, loss = update(params, opt_state, *batch())
    loss.block_until_ready()

    jax.profiler.start_trace(args.logdir)
    for step in range(10):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, opt_state, loss = update(params, opt_state, *batch())
            loss.block_until_ready()
    jax.profiler.stop_trace()
    print(f"loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
