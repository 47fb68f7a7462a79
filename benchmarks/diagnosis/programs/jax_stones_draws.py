"""Learns how hard stones are from a table of drillings on the device; rows are drawn without repetition, or with it."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

DRILLINGS, FEATURES, WIDTH, BATCH = 60_000, 64, 384, 512
STEPS = 12


def main(logdir, faulty):
    def loss_fn(params, features, hardness):
        hidden = features
        for weights, bias in params["hidden"]:
            hidden = jax.nn.gelu(hidden @ weights + bias)
        return jnp.mean((hidden @ params["out"] - hardness) ** 2)

    @jax.jit
    def step(params, key, features, hardness):
        key, use = jax.random.split(key)
        rows = jax.random.choice(use, DRILLINGS, (BATCH,), replace=not faulty)
        loss, gradients = jax.value_and_grad(loss_fn)(params, features[rows], hardness[rows])
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), key, loss

    random = np.random.default_rng(61)
    params = {
        "hidden": [
            (jnp.asarray(random.normal(0, 0.06, shape), jnp.float32), jnp.zeros(shape[1]))
            for shape in ((FEATURES, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH))
        ],
        "out": jnp.asarray(random.normal(0, 0.06, WIDTH), jnp.float32),
    }
    features = jax.device_put(random.random((DRILLINGS, FEATURES), np.float32))
    hardness = jax.device_put(random.random(DRILLINGS, np.float32))

    def train(params, key, steps):
        losses = []
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params, key, loss = step(params, key, features, hardness)
                losses.append(loss)
        jax.block_until_ready((params, losses))
        return params, key

    params, key = train(params, jax.random.key(61), 3)
    with jax.profiler.trace(logdir):
        train(params, key, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
