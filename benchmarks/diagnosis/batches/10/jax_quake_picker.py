"""Onset of P waves in seismograms: gradients gathered over rounds of traces on two devices."""
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import argparse  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

SAMPLES, CHANNELS, HIDDEN = 96, 3, 1024
MICRO, ROUNDS = 24, 8
WARMUP, RECORDED = 8, 10


def seismograms(rng, n):
    onset = rng.integers(10, SAMPLES - 10, n)
    t = np.arange(SAMPLES)[None, :] - onset[:, None]
    wave = np.exp(-np.clip(t, 0, None) / 12) * np.sin(0.9 * t) * (t >= 0)
    x = wave[..., None] + 0.2 * rng.standard_normal((n, SAMPLES, CHANNELS))
    return x.astype(np.float32).reshape(n, SAMPLES * CHANNELS), onset.astype(np.int32)


def init(key):
    sizes = [SAMPLES * CHANNELS, HIDDEN, HIDDEN, SAMPLES]
    keys = jax.random.split(key, len(sizes))
    return [
        {"w": jax.random.normal(k, (m, n)) * np.sqrt(2 / m), "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes, sizes[1:])
    ]


def loss_fn(params, x, onset):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    scores = x @ params[-1]["w"] + params[-1]["b"]
    return optax.softmax_cross_entropy_with_integer_labels(scores, onset).mean()


def make_step(mesh, optimizer, each_round):
    def accumulate(params, x, onset):
        def one(total, batch):
            part = jax.value_and_grad(loss_fn)(params, *batch)
            if each_round:
                part = jax.lax.pmean(part, "device")
            return jax.tree.map(jnp.add, total, part), None

        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
        rounds = (x.reshape(ROUNDS, MICRO, -1), onset.reshape(ROUNDS, MICRO))
        total, _ = jax.lax.scan(one, zero, rounds)
        if not each_round:
            total = jax.lax.pmean(total, "device")
        return jax.tree.map(lambda v: v / ROUNDS, total)

    parallel = jax.shard_map(
        accumulate, mesh=mesh, in_specs=(P(), P("device"), P("device")), out_specs=P(), check_vma=False
    )

    @jax.jit
    def step(params, opt_state, x, onset):
        loss, grads = parallel(params, x, onset)
        updates, opt_state = optimizer.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state, loss

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()[:2]), ("device",))
    split, everywhere = NamedSharding(mesh, P("device")), NamedSharding(mesh, P())
    rng = np.random.default_rng(6)
    x, onset = seismograms(rng, 4000)

    def batch():
        rows = rng.integers(0, len(x), 2 * ROUNDS * MICRO)
        return jax.device_put((x[rows], onset[rows]), split)

    params = jax.device_put(init(jax.random.key(0)), everywhere)
    optimizer = optax.sgd(0.02, momentum=0.9)
    opt_state = jax.device_put(optimizer.init(params), everywhere)
    step = make_step(mesh, optimizer, each_round=args.fault)
    for _ in range(WARMUP):
        params, opt_state, loss = step(params, opt_state, *batch())
    print("warm-up", float(loss))

    with jax.profiler.trace(args.logdir):
        for i in range(RECORDED):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                params, opt_state, loss = step(params, opt_state, *batch())
        loss.block_until_ready()
    print("loss", float(loss))


if __name__ == "__main__":
    main()
