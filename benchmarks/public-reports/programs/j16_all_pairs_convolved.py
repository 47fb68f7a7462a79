import os

import jax
import jax.numpy as jnp
import numpy as np

PARAMETERS, SIZE, KERNEL = 24, 48, 7
LAYOUT = ("NCHW", "OIHW", "NCHW")


def convolve_each(images, kernels):
    """Convolves each distribution with its own kernel."""
    every = jax.lax.conv_general_dilated(
        images[:, None], kernels[:, None], (1, 1), "SAME", dimension_numbers=LAYOUT
    )
    return jnp.stack([every[i, i] for i in range(PARAMETERS)])


@jax.jit
def update(images, kernels, target):
    def loss_fn(k):
        return jnp.mean((convolve_each(images, k) - target) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(kernels)
    return kernels - 0.1 * grads, loss


def fit(steps):
    rng = np.random.default_rng(0)
    images = jnp.asarray(rng.random((PARAMETERS, SIZE, SIZE)), jnp.float32)
    target = jnp.roll(images, 1, axis=1)
    kernels = jnp.zeros((PARAMETERS, KERNEL, KERNEL))
    for step in range(steps):
        kernels, loss = update(images, kernels, target)
        if step % 20 == 0:
            print(step, float(loss))


fit(int(os.environ.get("STEPS", 1500)))
