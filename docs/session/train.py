"""A small classifier on made-up digits; it writes the histogram of each gradient in every step."""

import json

import jax
import jax.numpy as jnp
import numpy as np

BATCH, PIXELS, WIDTH, KINDS, STEPS = 256, 784, 256, 10, 3000


def initial(key):
    sizes = (PIXELS, WIDTH, WIDTH, KINDS)
    keys = jax.random.split(key, len(sizes) - 1)
    return [jax.random.normal(k, (a, b)) / np.sqrt(a) for k, a, b in zip(keys, sizes, sizes[1:])]


def loss_of(weights, images, labels):
    hidden = images
    for weight in weights[:-1]:
        hidden = jax.nn.relu(hidden @ weight)
    scores = jax.nn.log_softmax(hidden @ weights[-1])
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


@jax.jit
def train_step(weights, images, labels):
    loss, gradients = jax.value_and_grad(loss_of)(weights, images, labels)
    return [w - 0.1 * g for w, g in zip(weights, gradients)], loss, gradients


def write_histograms(file, step, loss, gradients):
    bars = [np.histogram(np.asarray(gradient), bins=50)[0].tolist() for gradient in gradients]
    file.write(json.dumps({"step": step, "loss": float(loss), "gradients": bars}) + "\n")


def main():
    rng = np.random.default_rng(0)
    images = jnp.asarray(rng.normal(size=(BATCH, PIXELS)), jnp.float32)
    labels = jnp.asarray(rng.integers(0, KINDS, BATCH))
    weights = initial(jax.random.key(0))
    with open("histograms.jsonl", "w") as file:
        for step in range(STEPS):
            weights, loss, gradients = train_step(weights, images, labels)
            write_histograms(file, step, loss, gradients)


if __name__ == "__main__":
    main()
