"""Which stamp does a collector add next? Small transformer over album pages; the catalogue's vectors are split by rows."""

import argparse
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

CATALOGUE, WIDTH = 480_000, 64
PAGE = 25
BATCH = 128
LAYERS = 2
WARM_UP, RECORDED = 6, 12


def albums(seed=19):
    rng = np.random.default_rng(seed)
    while True:
        start = rng.integers(0, CATALOGUE - 4000, (BATCH, 1))
        yield (start + rng.integers(0, 4000, (BATCH, PAGE))).astype(np.int32)


def init(key):
    glorot = jax.nn.initializers.glorot_normal()
    params = {"place": 0.02 * jax.random.normal(key, (PAGE - 1, WIDTH))}
    for n in range(LAYERS):
        keys = jax.random.split(jax.random.fold_in(key, n), 4)
        params[f"block{n}"] = {
            "qkv": glorot(keys[0], (WIDTH, 3 * WIDTH)),
            "out": glorot(keys[1], (WIDTH, WIDTH)),
            "up": glorot(keys[2], (WIDTH, 4 * WIDTH)),
            "down": glorot(keys[3], (4 * WIDTH, WIDTH)),
        }
    return params


def norm(x):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def encode(params, x):
    x = x + params["place"]
    causal = jnp.tril(jnp.ones((PAGE - 1, PAGE - 1), bool))
    for n in range(LAYERS):
        p = params[f"block{n}"]
        q, k, v = jnp.split((norm(x) @ p["qkv"]).reshape(*x.shape[:2], 4, -1), 3, axis=-1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(causal, scores, -1e9)), v)
        x = x + mixed.reshape(x.shape) @ p["out"]
        x = x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
    return norm(x)


def look_up(rows, pages):
    """Each device answers for the rows that it holds; the answers return to the device of the page."""
    every = jax.lax.all_gather(pages, "d", tiled=True)
    local = every - jax.lax.axis_index("d") * rows.shape[0]
    mine = (local >= 0) & (local < rows.shape[0])
    found = jnp.where(mine[..., None], rows[jnp.clip(local, 0, rows.shape[0] - 1)], 0.0)
    return jax.lax.psum_scatter(found, "d", tiled=True)


def take(rows, pages):
    return jax.lax.all_gather(rows, "d", tiled=True)[pages]


def make_step(mesh, optimizer, fetch):
    def loss_fn(params, vectors):
        h = encode(params, vectors[:, :-1])
        logits = jnp.einsum("bpd,bqd->bpq", h, vectors[:, 1:]) / WIDTH**0.5
        return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(PAGE - 1)[None]).mean()

    @jax.jit
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P(), P(), P("d"), P("d")), out_specs=(P(), P(), P()), check_vma=False
    )
    def train_step(params, state, rows, pages):
        vectors = fetch(rows, pages)
        loss, grads = jax.value_and_grad(loss_fn)(params, vectors)
        grads, loss = jax.lax.pmean((grads, loss), "d")
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    return train_step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()), ("d",))
    split, whole = NamedSharding(mesh, P("d")), NamedSharding(mesh, P())
    vectors = np.random.default_rng(0).standard_normal((CATALOGUE, WIDTH), dtype=np.float32)
    rows = jax.device_put(vectors, split)
    params = jax.device_put(init(jax.random.key(3)), whole)
    optimizer = optax.adam(5e-4)
    state = jax.device_put(optimizer.init(params), whole)
    train_step = make_step(mesh, optimizer, take if args.fault else look_up)
    stream = albums()

    for _ in range(WARM_UP):
        params, state, loss = train_step(params, state, rows, jax.device_put(next(stream), split))
    jax.block_until_ready(loss)
    jax.profiler.start_trace(args.logdir)
    for step in range(RECORDED):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, state, loss = train_step(params, state, rows, jax.device_put(next(stream), split))
            jax.block_until_ready(loss)
    jax.profiler.stop_trace()
    print(f"loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
