"""Learns the echoes of rooms from dry and wet sound; jax.scipy's convolve adds up every product, or fftconvolve is used."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy import signal

ROOMS, SAMPLES, ECHO, FRAME = 6, 15_360, 1_025, 480
STEPS = 12


def main(logdir, faulty):
    convolve = signal.convolve if faulty else signal.fftconvolve

    def wet(params, dry):
        frames = dry.reshape(ROOMS, -1, FRAME)
        for weights in params["clean"]:
            frames = frames + jnp.tanh(frames @ weights)
        sound = frames.reshape(ROOMS, SAMPLES)
        echoes = params["echoes"] * jnp.exp(-params["decay"][:, None] * jnp.arange(ECHO))
        return sound + jax.vmap(convolve)(sound, echoes)[:, :SAMPLES]

    @jax.jit
    def step(params, dry, recorded):
        loss, gradients = jax.value_and_grad(lambda params: jnp.mean((wet(params, dry) - recorded) ** 2))(params)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), loss

    random = np.random.default_rng(57)
    params = {
        "clean": [jnp.asarray(random.normal(0, 0.03, (FRAME, FRAME)), jnp.float32) for _ in range(8)],
        "echoes": jnp.asarray(random.normal(0, 0.02, (ROOMS, ECHO)), jnp.float32),
        "decay": jnp.full(ROOMS, 0.002),
    }
    takes = [tuple(random.normal(0, 0.3, (2, ROOMS, SAMPLES)).astype(np.float32)) for _ in range(4)]

    def train(params, steps):
        losses = []
        for number in range(steps):
            params, loss = step(params, *takes[number % len(takes)])
            losses.append(loss)
        jax.block_until_ready(params)
        return params, losses

    params, _ = train(params, 3)
    jax.profiler.start_trace(logdir)
    train(params, STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
