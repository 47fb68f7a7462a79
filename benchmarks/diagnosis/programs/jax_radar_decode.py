"""Trains a convolutional network on radar images that are stored compressed; they are decoded in the loop or ahead of it."""

import queue
import sys
import threading
import zlib

import jax
import jax.numpy as jnp
import numpy as np

BATCH, STORED, SIDE = 24, 96, 64
STEPS = 15


def forward(params, images):
    for kernel in params["kernels"]:
        images = jax.lax.conv_general_dilated(
            images, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        images = jax.nn.relu(images)
    return images.mean(axis=(1, 2)) @ params["head"]


@jax.jit
def train_step(params, images, labels):
    def loss_fn(params):
        logits = forward(params, images)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1))

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), loss


def stored_images(count):
    random = np.random.default_rng(0)
    images = random.poisson(3.0, (count, STORED, STORED, 4)).astype(np.float32)
    return [zlib.compress(image.tobytes(), 1) for image in images], random.integers(0, 6, count)


def decode(stored, labels, number):
    chosen = [(number * BATCH + one) % len(stored) for one in range(BATCH)]
    images = [np.frombuffer(zlib.decompress(stored[one]), np.float32).reshape(STORED, STORED, 4) for one in chosen]
    images = np.stack(images)[:, 16 : 16 + SIDE, 16 : 16 + SIDE]
    return (images - images.mean()) / images.std(), labels[chosen]


def ahead(batches, depth=3):
    ready = queue.Queue(depth)

    def work():
        for batch in batches:
            ready.put(batch)

    threading.Thread(target=work, daemon=True).start()
    while True:
        yield ready.get()


def main(logdir, faulty):
    random = np.random.default_rng(1)
    shapes = ((5, 5, 4, 32), (3, 3, 32, 64), (3, 3, 64, 64))
    kernels = [jnp.asarray(random.normal(0, 0.05, shape), jnp.float32) for shape in shapes]
    params = {"kernels": kernels, "head": jnp.zeros((64, 6))}
    stored, labels = stored_images(BATCH * 4)
    batches = (decode(stored, labels, number) for number in range(60))
    batches = iter(batches if faulty else ahead(batches))

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                images, kinds = next(batches)
                params, loss = train_step(params, images, kinds)
                loss.block_until_ready()
        return params

    params = train(params, 4)
    with jax.profiler.trace(logdir):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
