"""Follows whales with a filter network; a recorder is called from inside the jitted step by io_callback, or not at all."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

BATCH, WIDTH = 768, 256
STEPS = 16
kept = []


def keep(activities):
    """The twenty strongest of each whale, in words."""
    rows = np.asarray(activities)[:96]
    for row in rows:
        strongest = sorted(range(len(row)), key=lambda place: -row[place])[:20]
        kept.append(",".join(f"{place}:{row[place]:.2f}" for place in strongest))
    del kept[:-200]
    return np.int32(len(kept))


def main(logdir, faulty):
    @jax.jit
    def train_step(params, calls, places):
        hidden = jax.nn.gelu(calls @ params[0])
        count = io_callback(keep, jax.ShapeDtypeStruct((), jnp.int32), hidden, ordered=True) if faulty else 0

        def loss_fn(params):
            x = calls
            for weights in params[:-1]:
                x = jax.nn.gelu(x @ weights)
            return jnp.mean((x @ params[-1] - places) ** 2)

        gradients = jax.grad(loss_fn)(params)
        return [p - 0.01 * g for p, g in zip(params, gradients, strict=True)], count

    random = np.random.default_rng(38)
    shapes = ((48, WIDTH), (WIDTH, WIDTH), (WIDTH, 2))
    params = [jnp.asarray(random.normal(0, 0.1, shape), jnp.float32) for shape in shapes]
    calls = jnp.asarray(random.random((BATCH, 48), np.float32))
    places = jnp.asarray(random.random((BATCH, 2), np.float32))

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("whales", step_num=number):
                params, count = train_step(params, calls, places)
                jax.block_until_ready((params, count))
        return params

    params = train(params, 4)
    with jax.profiler.trace(logdir):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
