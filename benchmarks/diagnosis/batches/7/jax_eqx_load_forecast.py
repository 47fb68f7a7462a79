"""Forecasts electricity load with an equinox GRU; the profiler is started and stopped inside the loop."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

STEPS = 10
PROFILE_FROM, PROFILE_TO = 6, 6 + STEPS


class Forecaster(eqx.Module):
    cell: eqx.nn.GRUCell
    readout: eqx.nn.MLP

    def __init__(self, features, hidden, horizon, *, key):
        k1, k2 = jax.random.split(key)
        self.cell = eqx.nn.GRUCell(features, hidden, key=k1)
        self.readout = eqx.nn.MLP(hidden, horizon, width_size=128, depth=1, key=k2)

    def __call__(self, series):
        def scan_fn(state, inp):
            return self.cell(inp, state), None

        state, _ = jax.lax.scan(scan_fn, jnp.zeros(self.cell.hidden_size), series)
        return self.readout(state)


def dataloader(arrays, batch_size, seed):
    """Endless shuffled batches, as in equinox's own examples."""
    rng = np.random.default_rng(seed)
    size = arrays[0].shape[0]
    while True:
        perm = rng.permutation(size)
        for start in range(0, size - batch_size + 1, batch_size):
            yield tuple(a[perm[start : start + batch_size]] for a in arrays)


def make_data(n=2048, context=72, horizon=24):
    rng = np.random.default_rng(5)
    t = np.arange(context + horizon) + rng.integers(0, 8760, (n, 1))
    load = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(2 * np.pi * t / 168) + 0.1 * rng.normal(size=t.shape)
    temperature = np.cos(2 * np.pi * t / 8760)
    x = np.stack([load, temperature], -1)[:, :context]
    return x.astype(np.float32), load[:, context:].astype(np.float32)


def main(logdir, faulty):
    del faulty
    optim = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    model = Forecaster(2, 192, 24, key=jax.random.key(0))
    opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit(donate="all-except-first")
    def make_step(batch, model, opt_state):
        def compute_loss(model, x, y):
            return jnp.mean((jax.vmap(model)(x) - y) ** 2)

        loss, grads = eqx.filter_value_and_grad(compute_loss)(model, *batch)
        updates, opt_state = optim.update(grads, opt_state)
        return loss, eqx.apply_updates(model, updates), opt_state

    for step, batch in enumerate(dataloader(make_data(), 128, seed=3)):
        if step == PROFILE_FROM:
            jax.block_until_ready(model)
            jax.profiler.start_trace(logdir)
        if step == PROFILE_TO:
            loss.block_until_ready()
            jax.profiler.stop_trace()
            break
        loss, model, opt_state = make_step(batch, model, opt_state)
    print("mse", float(loss), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
