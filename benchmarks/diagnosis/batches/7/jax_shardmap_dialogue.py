"""Dialogue acts from sentence vectors on four host devices; each step adds up the gradients of several microbatches."""

import os
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

STEPS = 10
SENTENCE, ACTS = 512, 42
WIDTHS = [SENTENCE, 1024, 512, ACTS]
MICRO = 12  # microbatches a step
ROWS = 4  # rows of a microbatch on a device


def init_params(rng):
    return [
        {"w": jnp.asarray(rng.normal(0, m**-0.5, (m, n)), jnp.float32), "b": jnp.zeros(n)}
        for m, n in zip(WIDTHS[:-1], WIDTHS[1:])
    ]


def loss_fn(params, x, act):
    for layer in params[:-1]:
        x = jax.nn.silu(x @ layer["w"] + layer["b"])
    logits = x @ params[-1]["w"] + params[-1]["b"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, act).mean()


def sharded_step(params, x, act, reduce_each):
    """x: [microbatch, row, feature] of this device."""

    def one(total, micro):
        grads = jax.grad(loss_fn)(params, *micro)
        if reduce_each:
            grads = jax.lax.psum(grads, "data")
        return jax.tree.map(jnp.add, total, grads), None

    total, _ = jax.lax.scan(one, jax.tree.map(jnp.zeros_like, params), (x, act))
    if not reduce_each:
        total = jax.lax.psum(total, "data")
    return jax.tree.map(lambda p, g: p - 0.1 * g / (MICRO * 4), params, total)


def main(logdir, faulty):
    mesh = jax.make_mesh((4,), ("data",))
    step_fn = jax.jit(
        jax.shard_map(
            partial(sharded_step, reduce_each=faulty),
            mesh=mesh,
            in_specs=(P(), P(None, "data"), P(None, "data")),
            out_specs=P(),
            check_vma=False,
        ),
        donate_argnums=0,
    )
    rng = np.random.default_rng(23)
    params = jax.device_put(init_params(rng), NamedSharding(mesh, P()))
    vectors = rng.normal(size=(5, MICRO, ROWS * 4, SENTENCE)).astype(np.float32)
    acts = rng.integers(0, ACTS, (5, MICRO, ROWS * 4)).astype(np.int32)
    place = NamedSharding(mesh, P(None, "data"))

    profiling = False
    for n in range(4 + STEPS):
        if n == 4:
            jax.block_until_ready(params)
            jax.profiler.start_trace(logdir)
            profiling = True
        with jax.profiler.StepTraceAnnotation("train_step", step_num=n):
            params = step_fn(params, *jax.device_put((vectors[n % 5], acts[n % 5]), place))
    jax.block_until_ready(params)
    if profiling:
        jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
