"""Tells voices apart; a running average of the weights is kept in NumPy, or on the device in a step of its own."""

import itertools
import sys

import jax
import jax.numpy as jnp
import numpy as np

BANDS, WIDTH, VOICES, BATCH = 80, 512, 40, 96
STEPS = 14


def logits_of(params, sounds):
    for layer in params["layers"]:
        sounds = jax.nn.relu(sounds @ layer["kernel"] + layer["bias"])
    return sounds @ params["head"]


@jax.jit
def train_step(params, sounds, voices):
    def loss_fn(params):
        chances = jax.nn.log_softmax(logits_of(params, sounds))
        return -jnp.mean(jnp.take_along_axis(chances, voices[:, None], axis=1))

    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_fn)(params))


@jax.jit
def average_step(average, params):
    return jax.tree.map(lambda a, p: 0.999 * a + 0.001 * p, average, params)


class Averager:
    """Weights averaged over the steps."""

    def __init__(self, params, on_host):
        self.on_host = on_host
        self.average = jax.device_get(params) if on_host else params

    def __call__(self, params):
        if not self.on_host:
            self.average = average_step(self.average, params)
            return
        now = jax.device_get(params)
        self.average = jax.tree.map(lambda a, p: 0.999 * a + 0.001 * p.astype(np.float64), self.average, now)


def main(logdir, faulty):
    random = np.random.default_rng(16)
    sizes = [BANDS, WIDTH, WIDTH, WIDTH]
    layers = [
        {"kernel": jnp.asarray(random.normal(0, 0.05, (a, b)), jnp.float32), "bias": jnp.zeros(b)}
        for a, b in itertools.pairwise(sizes)
    ]
    params = {"layers": layers, "head": jnp.asarray(random.normal(0, 0.05, (WIDTH, VOICES)), jnp.float32)}
    sounds = jnp.asarray(random.random((6, BATCH, BANDS), np.float32))
    voices = jnp.asarray(random.integers(0, VOICES, (6, BATCH)))
    averager = Averager(params, faulty)

    def fit(params, steps):
        for number in range(steps):
            params = train_step(params, sounds[number % 6], voices[number % 6])
            averager(params)
        jax.block_until_ready((params, averager.average))
        return params

    params = fit(params, 7)
    jax.profiler.start_trace(logdir)
    fit(params, STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
