"""Prices freight tenders: an MLP over the features of a lane, data-parallel over the host's two devices."""
import argparse
import functools
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

parser = argparse.ArgumentParser()
parser.add_argument("logdir")
parser.add_argument("--fault", action="store_true")
args = parser.parse_args()

FEATURES, WIDTHS, BATCH = 420, (512, 512, 384), 2048
WARMUP, RECORDED = 6, 10

mesh = Mesh(np.array(jax.devices()), ("data",))
replicated = NamedSharding(mesh, P())
by_rows = NamedSharding(mesh, P("data"))


def init(key):
    params, width = [], FEATURES
    for out in (*WIDTHS, 1):
        key, sub = jax.random.split(key)
        params.append({"w": jax.random.normal(sub, (width, out)) * (2 / width) ** 0.5, "b": jnp.zeros(out)})
        width = out
    return params


def predict(params, x):
    for layer in params[:-1]:
        x = jax.nn.silu(x @ layer["w"] + layer["b"])
    return (x @ params[-1]["w"] + params[-1]["b"])[:, 0]


def quantile_loss(params, batch):
    error = batch["price"] - predict(params, batch["tender"])
    return jnp.mean(jnp.maximum(0.6 * error, -0.4 * error))




def clip_by_percentile(q, sample):
    """Clips each layer's gradient at a percentile of its absolute values (of `sample` of them, if given)."""

    def clip(g):
        size = jnp.abs(g.reshape(-1))
        if sample and g.size > sample:
            size = size[:: g.size // sample]
        limit = jnp.quantile(size, q)
        return jnp.clip(g, -limit, limit)

    return optax.stateless(lambda grads, params: jax.tree.map(clip, grads))


optimizer = optax.chain(
    clip_by_percentile(0.99, sample=None if args.fault else 4096),
    optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 3e-4, 20, 400), weight_decay=1e-2),
)


@functools.partial(jax.jit, donate_argnums=0)
def update(state, batch):
    loss, grads = jax.value_and_grad(quantile_loss)(state["params"], batch)
    updates, opt = optimizer.update(grads, state["opt"], state["params"])
    return {"params": optax.apply_updates(state["params"], updates), "opt": opt}, loss


def tenders(rng, count=20_000):
    x = rng.normal(0, 1, (count, FEATURES)).astype("float32")
    distance = np.exp(0.4 * x[:, 0] + 6)
    price = 1.3 + 0.9 * np.log(distance) + 0.2 * np.tanh(x[:, 1] * x[:, 2]) + rng.gumbel(0, 0.1, count)
    return x, price.astype("float32")


def main():
    rng = np.random.default_rng(4)
    tender, price = tenders(rng)
    params = init(jax.random.key(0))
    state = jax.device_put({"params": params, "opt": optimizer.init(params)}, replicated)

    def batch():
        rows = rng.integers(0, len(tender), BATCH)
        return jax.device_put({"tender": tender[rows], "price": price[rows]}, by_rows)

    for _ in range(WARMUP):
        state, loss = update(state, batch())
    jax.block_until_ready(loss)

    with jax.profiler.trace(args.logdir):
        for step in range(RECORDED):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                state, loss = update(state, batch())
        jax.block_until_ready(loss)
    print("pinball loss", float(loss))


if __name__ == "__main__":
    main()
