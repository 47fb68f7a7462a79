"""Predicts the topic of the next word with gated mixing layers, data parallel over two devices, accumulated gradients."""
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

VOCAB = 8192
TOPICS = 64
WIDTH = 256
LENGTH = 24
MICRO = 8
PER_DEVICE = 1


def corpus(n, rng):
    """A random walk over the vocabulary: short jumps, with restarts."""
    jumps = rng.integers(1, 60, n)
    jumps[rng.random(n) < 0.02] = rng.integers(0, VOCAB)
    return (np.cumsum(jumps) % VOCAB).astype(np.int32)


def init(key):
    k = jax.random.split(key, 8)
    scale = WIDTH ** -0.5

    def layer(k1, k2):
        return {
            "gate": jax.random.normal(k1, (WIDTH, 2 * WIDTH)) * scale,
            "proj": jax.random.normal(k2, (WIDTH, WIDTH)) * scale,
            "scale": jnp.ones(WIDTH),
        }

    return {
        "embed": jax.random.normal(k[0], (VOCAB, WIDTH)) * 0.02,
        "layers": [layer(k[1], k[2]), layer(k[3], k[4])],
        "head": jax.random.normal(k[5], (WIDTH, TOPICS)) * scale,
    }


def model(params, tokens):
    h = params["embed"][tokens]
    for p in params["layers"]:
        x = h * lax.rsqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6) * p["scale"]
        value, forget = jnp.split(x @ p["gate"], 2, -1)
        f = jax.nn.sigmoid(forget + 1.0)

        def join(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]

        _, state = lax.associative_scan(join, (f, (1 - f) * value), axis=1)
        h = h + jax.nn.silu(state) @ p["proj"]
    return h @ params["head"]


def nll(params, chunk):
    logits = model(params, chunk[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, chunk[:, 1:] // (VOCAB // TOPICS)).mean()


def mean_over_data(tree):
    return jax.tree.map(lambda g: lax.pmean(g, "data"), tree)


def make_step(mesh, tx, per_micro):
    def gradients(params, chunks):
        def body(total, chunk):
            out = jax.value_and_grad(nll)(params, chunk)
            if per_micro:
                out = mean_over_data(out)
            return jax.tree.map(jnp.add, total, out), None

        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
        total, _ = lax.scan(body, zero, chunks)
        total = jax.tree.map(lambda x: x / MICRO, total)
        return total if per_micro else mean_over_data(total)

    mapped = jax.shard_map(gradients, mesh=mesh, in_specs=(P(), P(None, "data")), out_specs=P(), check_vma=False)

    @jax.jit
    def step(params, opt, chunks):
        loss, grads = mapped(params, chunks)
        updates, opt = tx.update(grads, opt, params)
        return optax.apply_updates(params, updates), opt, loss

    return step


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()

    rng = np.random.default_rng(2)
    text = corpus(200_000, rng)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    everywhere = NamedSharding(mesh, P())
    split = NamedSharding(mesh, P(None, "data"))
    tx = optax.sgd(0.3, momentum=0.9)
    params = jax.device_put(init(jax.random.key(0)), everywhere)
    opt = jax.device_put(tx.init(params), everywhere)
    step_fn = make_step(mesh, tx, per_micro=args.fault)

    def batch():
        starts = rng.integers(0, len(text) - LENGTH - 1, (MICRO, 2 * PER_DEVICE))
        return jax.device_put(text[starts[..., None] + np.arange(LENGTH + 1)], split)

    for _ in range(6):
        params, opt, loss = step_fn(params, opt, batch())
    loss.block_until_ready()

    jax.profiler.start_trace(args.logdir)
    for i in range(10):
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            params, opt, loss = step_fn(params, opt, batch())
            loss.block_until_ready()
    jax.profiler.stop_trace()
    print("last loss", float(loss))


if __name__ == "__main__":
    main()
