"""Credit scores on four host devices: shard_map, one psum of all gradients each step."""

import os
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

STEPS = 12
BATCH = 4096
WIDTHS = [64, 384, 384, 384, 1]


def init(rng):
    return [
        {"w": jnp.asarray(rng.normal(0, (2 / m) ** 0.5, (m, n)), jnp.float32), "b": jnp.zeros(n)}
        for m, n in zip(WIDTHS[:-1], WIDTHS[1:])
    ]


def loss_fn(params, x, y):
    for layer in params[:-1]:
        x = jax.nn.gelu(x @ layer["w"] + layer["b"])
    logits = (x @ params[-1]["w"] + params[-1]["b"])[:, 0]
    return optax.sigmoid_binary_cross_entropy(logits, y).mean()


def main(logdir, faulty):
    del faulty
    mesh = Mesh(np.array(jax.devices()), ("data",))
    tx = optax.sgd(0.1, momentum=0.9)

    def step(params, opt_state, x, y):
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        loss, grads = jax.lax.pmean((loss, grads), "data")
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    train_step = jax.jit(
        jax.shard_map(
            step, mesh=mesh, in_specs=(P(), P(), P("data"), P("data")), out_specs=(P(), P(), P()), check_vma=False
        ),
        donate_argnums=(0, 1),
    )

    rng = np.random.default_rng(17)
    replicated, split = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    params = jax.device_put(init(rng), replicated)
    opt_state = jax.device_put(tx.init(params), replicated)
    applicants = rng.normal(size=(8, BATCH, WIDTHS[0])).astype(np.float32)
    defaulted = rng.integers(0, 2, (8, BATCH)).astype(np.float32)

    for number in range(STEPS + 4):
        if number == 4:
            jax.block_until_ready(params)
            jax.profiler.start_trace(logdir)
        with jax.profiler.StepTraceAnnotation("step", step_num=number):
            x, y = jax.device_put((applicants[number % 8], defaulted[number % 8]), split)
            params, opt_state, loss = train_step(params, opt_state, x, y)
    jax.block_until_ready(params)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
