"""Follows urea and fluid through a dialysis session with a recurrent model whose state drifts between the samples.

    python jax_dialysis.py LOGDIR
"""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

SAMPLES, READINGS, HIDDEN, TARGETS = 40, 10, 160, 2
SUBSTEPS = 2
BATCH = 96
WARMUP, RECORDED = 8, 12


def sessions(number=1500):
    rng = np.random.default_rng(29)
    gaps = rng.gamma(4.0, 1.5, (number, SAMPLES, 1)).astype(np.float32)
    readings = rng.normal(size=(number, SAMPLES, READINGS)).astype(np.float32)
    clearance = 0.02 + 0.01 * readings[..., :1]
    urea = np.exp(-np.cumsum(clearance * gaps, axis=1))
    fluid = np.cumsum(readings[..., 1:2] * 0.1, axis=1)
    return gaps / 6, readings, np.concatenate([urea, fluid], axis=-1).astype(np.float32)


class Session(eqx.Module):
    drift: eqx.nn.MLP
    cell: eqx.nn.GRUCell
    readout: eqx.nn.Linear

    def __init__(self, key):
        a, b, c = jax.random.split(key, 3)
        self.drift = eqx.nn.MLP(HIDDEN, HIDDEN, 192, 1, activation=jax.nn.tanh, key=a)
        self.cell = eqx.nn.GRUCell(READINGS, HIDDEN, key=b)
        self.readout = eqx.nn.Linear(HIDDEN, TARGETS, key=c)

    def __call__(self, gaps, readings):
        def sample(state, item):
            gap, reading = item
            for _ in range(SUBSTEPS):
                state = state + gap / SUBSTEPS * self.drift(state)
            guess = self.readout(state)
            return self.cell(reading, state), guess

        _, guesses = jax.lax.scan(sample, jnp.zeros(HIDDEN), (gaps, readings))
        return guesses


def loss_of(model, batch):
    gaps, readings, targets = batch
    guesses = jax.vmap(model)(gaps, readings)
    return jnp.mean(optax.huber_loss(guesses, targets))


def main(logdir):
    gaps, readings, targets = sessions()
    model = Session(jax.random.key(29))
    tx = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 2e-3, 100, 5000)),
    )
    opt_state = tx.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit(donate="all-except-first")
    def update(batch, model, opt_state):
        loss, grads = eqx.filter_value_and_grad(loss_of)(model, batch)
        updates, opt_state = tx.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), opt_state, loss

    def draw():
        rng = np.random.default_rng(30)
        while True:
            order = rng.permutation(len(gaps))
            for start in range(0, len(order) - BATCH + 1, BATCH):
                rows = order[start : start + BATCH]
                yield gaps[rows], readings[rows], targets[rows]

    batches = draw()
    for _ in range(WARMUP):
        model, opt_state, loss = update(next(batches), model, opt_state)
    loss.block_until_ready()

    with jax.profiler.trace(logdir):
        for step in range(RECORDED):
            with jax.profiler.StepTraceAnnotation("session", step_num=step):
                model, opt_state, loss = update(next(batches), model, opt_state)
                if step % 4 == 3:
                    print(f"step {WARMUP + step} loss {float(loss):.4f}")
        loss.block_until_ready()


if __name__ == "__main__":
    main(sys.argv[1])
