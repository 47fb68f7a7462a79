"""Finds rust on photographs of bridges: small residual network, batch statistics shared by all devices (shard_map)."""
import argparse
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

SIDE, BATCH, CLASSES = 48, 16, 5
WIDTHS = ((24, 1), (24, 1), (48, 2), (48, 1), (96, 2), (96, 1))


def conv(x, kernel, stride=1):
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_statistics(x):
    """Mean and variance of each channel over the pictures of all devices."""
    mean, square = lax.pmean(jnp.stack([x.mean((0, 1, 2)), jnp.square(x).mean((0, 1, 2))]), "data")
    return mean, square - jnp.square(mean)


def sync_norm(x, p):
    mean, var = batch_statistics(x)
    return (x - mean) * (p["scale"] * lax.rsqrt(var + 1e-5)) + p["bias"]


def init_params(seed):
    rng = np.random.default_rng(seed)

    def kernel(size, n_in, n_out):
        return rng.normal(0, np.sqrt(2 / (size * size * n_in)), (size, size, n_in, n_out)).astype(np.float32)

    def norm(width):
        return {"scale": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}

    params = {"stem": kernel(3, 3, 24), "stem_norm": norm(24), "blocks": []}
    width_in = 24
    for width, _ in WIDTHS:
        params["blocks"].append({
            "a": kernel(3, width_in, width), "a_norm": norm(width), "b": kernel(3, width, width), "b_norm": norm(width),
            "short": kernel(1, width_in, width),
        })
        width_in = width
    params["head"] = rng.normal(0, 0.05, (width_in, CLASSES)).astype(np.float32)
    return params


def forward(params, x):
    x = jax.nn.relu(sync_norm(conv(x, params["stem"]), params["stem_norm"]))
    for p, (_, stride) in zip(params["blocks"], WIDTHS):
        y = jax.nn.relu(sync_norm(conv(x, p["a"], stride), p["a_norm"]))
        y = sync_norm(conv(y, p["b"]), p["b_norm"])
        x = jax.nn.relu(y + conv(x, p["short"], stride))
    return x.mean((1, 2)) @ params["head"]


def photographs(seed, sharding):
    rng = np.random.default_rng(seed)
    while True:
        labels = rng.integers(0, CLASSES, BATCH).astype(np.int32)
        pictures = rng.integers(0, 200, (BATCH, SIDE, SIDE, 3), dtype=np.uint8)
        pictures[..., 0] += (10 * labels)[:, None, None].astype(np.uint8)
        yield jax.device_put((pictures, labels), sharding)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()), ("data",))
    batch_spec = P() if args.fault else P("data")
    replicated = NamedSharding(mesh, P())
    optimizer = optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(0.05, momentum=0.9, nesterov=True))

    @partial(jax.jit, donate_argnums=(0, 1))
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P(), batch_spec, batch_spec), out_specs=P(), check_vma=False)
    def train_step(params, opt_state, pictures, labels):
        def loss_fn(params):
            logits = forward(params, pictures.astype(jnp.float32) / 127.5 - 1)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        loss, grads = lax.pmean((loss, grads), "data")
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    params = jax.device_put(init_params(0), replicated)
    opt_state = jax.device_put(optimizer.init(params), replicated)
    source = photographs(1, NamedSharding(mesh, batch_spec))
    for _ in range(6):
        params, opt_state, loss = train_step(params, opt_state, *next(source))
    loss.block_until_ready()

    with jax.profiler.trace(args.logdir):
        for step in range(10):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                params, opt_state, loss = train_step(params, opt_state, *next(source))
        loss.block_until_ready()
    print(f"loss {float(loss):.3f}")


if __name__ == "__main__":
    main()
