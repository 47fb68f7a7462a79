import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.signal

SIZE, BLUR = 96, 41
OPTIMIZER = optax.adam(3e-2)


def render(params):
    blur = jax.nn.softmax(params["blur"].ravel()).reshape(BLUR, BLUR)
    scene = jax.nn.softplus(params["scene"])
    return jax.scipy.signal.convolve(scene, blur, mode="same")


@jax.jit
def step(params, state, frame):
    def misfit(p):
        return jnp.mean((render(p) - frame) ** 2) + 1e-4 * jnp.mean(jax.nn.softplus(p["scene"]))

    loss, grads = jax.value_and_grad(misfit)(params)
    updates, state = OPTIMIZER.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


def observe(rng):
    scene = np.zeros((SIZE, SIZE))
    scene[tuple(rng.integers(10, SIZE - 10, size=(2, 60)))] = rng.uniform(5, 50, size=60)
    offsets = np.arange(BLUR) - BLUR // 2
    blur = np.exp(-np.abs(offsets[:, None] / 5) ** 1.5 - np.abs(offsets / 9) ** 1.5)
    return scipy.signal.convolve(scene, blur / blur.sum(), mode="same")


def deblur(steps):
    rng = np.random.default_rng(0)
    clean = observe(rng)
    offsets = np.arange(BLUR) - BLUR // 2
    start = -(offsets[:, None] ** 2 + offsets**2) / 40
    params = {"scene": jnp.zeros((SIZE, SIZE)), "blur": jnp.asarray(start, jnp.float32)}
    state = OPTIMIZER.init(params)
    for number in range(steps):
        frame = (clean + 0.05 * rng.normal(size=clean.shape)).astype("float32")
        params, state, loss = step(params, state, frame)
        if number % 20 == 0:
            print(number, float(loss))


deblur(int(os.environ.get("STEPS", 450)))
