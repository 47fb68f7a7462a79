"""Predicts the drift of sensors from time stamps and readings (flax linen). Time stamps need 64 bits until they are features."""

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

jax.config.update("jax_enable_x64", True)  # unix nanoseconds do not fit into float32

STEPS = 12
FIRST = 5
BATCH = 1024


def features(nanoseconds, readings, dtype):
    seconds = nanoseconds.astype(np.float64) / 1e9
    day = 2 * np.pi * (seconds % 86400) / 86400
    year = 2 * np.pi * (seconds % 31557600) / 31557600
    clock = np.stack([np.sin(day), np.cos(day), np.sin(year), np.cos(year)], axis=-1)
    return np.concatenate([clock, readings], axis=-1).astype(dtype)


class Drift(nn.Module):
    dtype: jnp.dtype

    @nn.compact
    def __call__(self, x):
        kw = dict(dtype=self.dtype, param_dtype=self.dtype)
        x = nn.Dense(512, **kw)(x)
        for _ in range(3):
            h = nn.LayerNorm(**kw)(x)
            h = nn.relu(nn.Dense(512, **kw)(h))
            x = x + nn.Dense(512, **kw)(h)
        return nn.Dense(1, **kw)(x)[:, 0]


def main(logdir, faulty):
    dtype = jnp.float64 if faulty else jnp.float32
    rng = np.random.default_rng(31)
    rows = BATCH * 6
    stamps = 1_700_000_000_000_000_000 + rng.integers(0, 10**17, rows)
    readings = rng.normal(size=(rows, 28))
    drift = readings[:, 0] * 0.3 + rng.normal(0, 0.05, rows)

    model = Drift(dtype)
    params = jax.jit(model.init)(jax.random.key(0), jnp.zeros((1, 32), dtype))
    tx = optax.adam(1e-3)
    opt_state = tx.init(params)

    @jax.jit
    def train_step(params, opt_state, x, y):
        def loss_fn(p):
            return jnp.mean(optax.huber_loss(model.apply(p, x), y))

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    step = 0
    while True:
        if step == FIRST:
            jax.block_until_ready(params)
            jax.profiler.start_trace(logdir)
        with jax.profiler.StepTraceAnnotation("drift", step_num=step):
            at = step * BATCH % rows
            x = features(stamps[at : at + BATCH], readings[at : at + BATCH], dtype)
            params, opt_state, loss = train_step(params, opt_state, x, drift[at : at + BATCH].astype(dtype))
        step += 1
        if step == FIRST + STEPS:
            loss.block_until_ready()
            jax.profiler.stop_trace()
            break


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
