"""Predicts the wear of coin dies from press logs, data parallel over two host devices."""

import argparse
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

FEATURES = 64
WIDTH = 768
LAYERS = 4
MICRO = 6
MICRO_BATCH = 48  # a device
DEVICES = 2
WARMUP, RECORDED = 6, 10


def press_logs(count, seed=19):
    rng = np.random.default_rng(seed)
    log = rng.standard_normal((count, FEATURES)).astype(np.float32)
    wear = np.tanh(log[:, :8].sum(1) * 0.3) + 0.05 * rng.standard_normal(count)
    return log, wear.astype(np.float32)


def init(key):
    keys = jax.random.split(key, LAYERS + 2)
    dense = lambda k, i, o: {"w": jax.random.normal(k, (i, o)) * (2 / i) ** 0.5, "b": jnp.zeros(o)}
    return {
        "stem": dense(keys[0], FEATURES, WIDTH),
        "hidden": [dense(k, WIDTH, WIDTH) for k in keys[1:-1]],
        "head": dense(keys[-1], WIDTH, 1),
    }


def predict(params, x):
    x = jax.nn.relu(x @ params["stem"]["w"] + params["stem"]["b"])
    for layer in params["hidden"]:
        x = x + 0.3 * jax.nn.relu(x @ layer["w"] + layer["b"])
    return (x @ params["head"]["w"] + params["head"]["b"])[:, 0]


def loss_fn(params, log, wear):
    return jnp.mean(optax.huber_loss(predict(params, log), wear))


def make_step(mesh, optimizer, reduce_each):
    def accumulate(params, log, wear):
        """Gradients over MICRO slices of this device's rows, averaged over the devices."""

        def body(total, rows):
            loss_and_grads = jax.value_and_grad(loss_fn)(params, *rows)
            if reduce_each:
                loss_and_grads = jax.lax.pmean(loss_and_grads, "data")
            return jax.tree.map(jnp.add, total, loss_and_grads), None

        start = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
        slices = (log.reshape(MICRO, -1, FEATURES), wear.reshape(MICRO, -1))
        total, _ = jax.lax.scan(body, start, slices)
        if not reduce_each:
            total = jax.lax.pmean(total, "data")
        return jax.tree.map(lambda v: v / MICRO, total)

    sharded = jax.shard_map(
        accumulate, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=(P(), P()), check_vma=False
    )

    def step(params, opt_state, log, wear):
        loss, grads = sharded(params, log, wear)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return jax.jit(step, donate_argnums=(0, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("data",))
    replicated, by_row = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    optimizer = optax.sgd(1e-2, momentum=0.9)
    params = jax.device_put(init(jax.random.key(3)), replicated)
    opt_state = jax.device_put(optimizer.init(params), replicated)
    step = make_step(mesh, optimizer, reduce_each=args.fault)

    log, wear = press_logs(16384)
    rng = np.random.default_rng(0)

    def batch():
        rows = rng.integers(0, len(wear), DEVICES * MICRO * MICRO_BATCH)
        return jax.device_put((log[rows], wear[rows]), by_row)

    for _ in range(WARMUP):
        params, opt_state, loss = step(params, opt_state, *batch())
    jax.block_until_ready(params)

    with jax.profiler.trace(args.logdir):
        for n in range(RECORDED):
            with jax.profiler.StepTraceAnnotation("train", step_num=n):
                params, opt_state, loss = step(params, opt_state, *batch())
                jax.block_until_ready(loss)
    print(f"loss {float(loss):.5f}")


if __name__ == "__main__":
    main()
