"""Enhances speech frame by frame; each of many layers is a jitted call of its own, or all of them are one."""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

LAYERS, WIDTH, FRAMES = 60, 96, 24
STEPS = 15


class Layer:
    def __init__(self, random):
        self.mix = jnp.asarray(random.normal(0, 0.1, (WIDTH, WIDTH)), jnp.float32)
        self.gain = jnp.ones(WIDTH)

    @staticmethod
    def forward(mix, gain, sound):
        centred = sound - sound.mean(axis=-1, keepdims=True)
        return sound + jnp.tanh(centred @ mix) * gain

    @partial(jax.jit, static_argnums=0)
    def __call__(self, mix, gain, sound):
        return self.forward(mix, gain, sound)


@jax.jit
def all_layers(layers, sound):
    for mix, gain in layers:
        sound = Layer.forward(mix, gain, sound)
    return sound


def main(logdir, faulty):
    random = np.random.default_rng(26)
    layers = [Layer(random) for _ in range(LAYERS)]
    sounds = jnp.asarray(random.random((5, FRAMES, WIDTH), np.float32))

    def enhance(sound):
        if not faulty:
            return all_layers([(layer.mix, layer.gain) for layer in layers], sound)
        for layer in layers:
            sound = layer(layer.mix, layer.gain, sound)
        return sound

    def stream(frames):
        for number in range(frames):
            enhance(sounds[number % 5]).block_until_ready()

    stream(6)
    jax.profiler.start_trace(logdir)
    stream(STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
