import os
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

NEURONS, STEPS_PER_CALL, CAPACITY = 256, 400, 2048
TAU, DT, REFRACTORY = 20.0, 0.1, 2.0


class Neuron(NamedTuple):
    voltage: jax.Array
    resting: jax.Array
    threshold: jax.Array
    now: jax.Array
    times: jax.Array
    count: jax.Array


def init_neuron(threshold):
    zero = jnp.zeros(())
    return Neuron(zero, zero, threshold, zero, jnp.zeros(CAPACITY), jnp.zeros((), jnp.int32))


def spike(neuron):
    return neuron._replace(
        voltage=jnp.zeros(()),
        resting=jnp.full((), REFRACTORY),
        threshold=neuron.threshold + 0.02,
        times=neuron.times.at[neuron.count % CAPACITY].set(neuron.now),
        count=neuron.count + 1,
    )


def step(neuron, current):
    """One Euler step of an adaptive integrate-and-fire neuron."""
    active = neuron.resting <= 0
    voltage = neuron.voltage + jnp.where(active, DT / TAU * (current - neuron.voltage), 0.0)
    neuron = neuron._replace(
        voltage=voltage,
        resting=neuron.resting - DT,
        threshold=neuron.threshold + DT / 100 * (1.0 - neuron.threshold),
        now=neuron.now + DT,
    )
    return jax.lax.cond(neuron.voltage > neuron.threshold, spike, lambda n: n, neuron), None


@jax.jit
def simulate(neurons, currents):
    def run(neuron, current):
        return jax.lax.scan(step, neuron, current)[0]

    return jax.vmap(run, (0, 1))(neurons, currents)


def interval_statistics(neurons):
    times, counts = np.asarray(neurons.times), np.asarray(neurons.count)
    intervals = [np.diff(np.sort(row[: min(n, CAPACITY)])) for row, n in zip(times, counts) if n > 2]
    variation = [i.std() / i.mean() for i in intervals if len(i) > 1]
    return counts.mean(), np.mean(variation) if variation else 0.0


def main(calls):
    rng = np.random.default_rng(0)
    gain = rng.uniform(1.0, 3.0, NEURONS).astype("float32")
    neurons = jax.vmap(init_neuron)(jnp.ones(NEURONS))
    for call in range(calls):
        noise = rng.standard_normal((STEPS_PER_CALL, NEURONS), dtype="float32")
        neurons = simulate(neurons, gain + 2.0 * noise)
        if call % 5 == 0:
            spikes, variation = interval_statistics(neurons)
            print(f"call {call}: {spikes:.1f} spikes a neuron, CV {variation:.3f}", flush=True)


main(int(os.environ.get("STEPS", 400)))
