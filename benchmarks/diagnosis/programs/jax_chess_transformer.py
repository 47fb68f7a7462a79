"""Rates chess positions with a small transformer whose step runs op by op, or jitted."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

BATCH, FIELDS, WIDTH = 16, 64, 48
STEPS = 8


def block(layer, x):
    mean, spread = x.mean(-1, keepdims=True), x.std(-1, keepdims=True)
    y = (x - mean) / (spread + 1e-5)
    q, k, v = (y @ layer[name] for name in "qkv")
    weights = jax.nn.softmax(q @ k.transpose(0, 2, 1) / np.sqrt(WIDTH))
    x = x + weights @ v @ layer["o"]
    return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]


def loss_fn(params, pieces, rating):
    x = params["pieces"][pieces] + params["fields"]
    for layer in params["layers"]:
        x = block(layer, x)
    return jnp.mean((x.mean(1) @ params["out"] - rating) ** 2)


def step(params, pieces, rating):
    loss, gradients = jax.value_and_grad(loss_fn)(params, pieces, rating)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), loss


def main(logdir, faulty):
    random = np.random.default_rng(13)

    def normal(*shape):
        return jnp.asarray(random.normal(0, 0.1, shape), jnp.float32)

    square = {name: normal(WIDTH, WIDTH) for name in "qkvo"}
    layers = [{**square, "up": normal(WIDTH, 128), "down": normal(128, WIDTH)} for _ in range(2)]
    params = {"pieces": normal(13, WIDTH), "fields": normal(FIELDS, WIDTH), "layers": layers, "out": normal(WIDTH)}
    pieces = jnp.asarray(random.integers(0, 13, (BATCH, FIELDS)))
    rating = normal(BATCH)
    train_step = step if faulty else jax.jit(step)

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params, loss = train_step(params, pieces, rating)
                loss.block_until_ready()
        return params

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    params = train(params, 3)
    with jax.profiler.trace(logdir, profiler_options=options):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
