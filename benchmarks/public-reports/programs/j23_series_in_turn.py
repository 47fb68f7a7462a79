import os

import jax
import jax.numpy as jnp
import numpy as np

UNITS, SERIES, LENGTH = 300, 32, 200


def run_one(weights, series):
    def forward(state, inputs):
        driven = weights["in"] @ inputs + weights["recurrent"] @ state
        state = 0.7 * state + 0.3 * jnp.tanh(driven)
        return state, state

    return jax.lax.scan(forward, jnp.zeros(UNITS), series)[1]


@jax.jit
def run(weights, batch):
    return jax.lax.map(lambda series: run_one(weights, series), batch)


@jax.jit
def partial_fit(moments, states, targets):
    states, targets = states.reshape(-1, UNITS), targets.reshape(-1, 1)
    return moments[0] + states.T @ states, moments[1] + states.T @ targets


def fit_reservoir(steps):
    rng = np.random.default_rng(0)
    recurrent = rng.normal(size=(UNITS, UNITS)) * (rng.random((UNITS, UNITS)) < 0.1)
    recurrent *= 0.9 / np.abs(np.linalg.eigvals(recurrent)).max()
    weights = {
        "in": jnp.asarray(rng.uniform(-1, 1, size=(UNITS, 1)), jnp.float32),
        "recurrent": jnp.asarray(recurrent, jnp.float32),
    }
    moments = jnp.zeros((UNITS, UNITS)), jnp.zeros((UNITS, 1))
    signal = np.cumsum(rng.normal(size=1_000_000)).astype("float32") / 100
    for step in range(steps):
        starts = rng.integers(0, len(signal) - LENGTH - 1, SERIES)
        windows = signal[starts[:, None] + np.arange(LENGTH + 1)][..., None]
        states = run(weights, windows[:, :-1])
        moments = partial_fit(moments, states, windows[:, 1:])
        if step % 20 == 0:
            print(step, float(moments[1][0, 0]))
    readout = jnp.linalg.solve(moments[0] + jnp.eye(UNITS), moments[1])
    print("readout", readout.shape)


fit_reservoir(int(os.environ.get("STEPS", 500)))
