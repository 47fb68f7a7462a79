import os
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

SIDE, CHANNELS = 16, 4


def denoise(params, latents, text):
    h = jax.nn.silu(latents @ params["into"] + text @ params["text"])
    return h @ params["out"]


@partial(jax.jit, static_argnames=("guidance_scale", "steps"))
def generate(params, latents, text, guidance_scale, steps):
    """Latents of a picture after some steps of guided diffusion."""
    for _ in range(steps):
        free = denoise(params, latents, jnp.zeros_like(text))
        guided = denoise(params, latents, text)
        latents = latents - 0.1 * (free + guidance_scale * (guided - free))
    return latents


def serve(requests):
    rng = np.random.default_rng(0)
    params = {
        "into": jnp.asarray(rng.normal(size=(CHANNELS, 64)), jnp.float32),
        "text": jnp.asarray(rng.normal(size=(32, 64)), jnp.float32),
        "out": jnp.asarray(rng.normal(size=(64, CHANNELS)) / 64, jnp.float32),
    }
    for number in range(requests):
        latents = jnp.asarray(rng.normal(size=(SIDE * SIDE, CHANNELS)), jnp.float32)
        text = jnp.asarray(rng.normal(size=32), jnp.float32)
        scale = round(float(rng.uniform(1.0, 15.0)), 3)  # what the user chose on the slider
        picture = generate(params, latents, text, scale, steps=10)
        if number % 20 == 0:
            print(number, float(picture.std()))


serve(int(os.environ.get("STEPS", 800)))
