"""Maps corals; the loop prints the loss of each step before it cuts the next batch out of the map, or of every eighth."""

import os
import sys

import jax
import jax.numpy as jnp
import numpy as np

BATCH, SIDE = 24, 40
STEPS = 16


def forward(kernels, patches):
    for kernel in kernels[:-1]:
        patches = jax.nn.relu(
            jax.lax.conv_general_dilated(patches, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        )
    return jnp.einsum("bhwc,ck->bhwk", patches, kernels[-1])


@jax.jit
def train_step(kernels, patches, kinds):
    def loss_fn(kernels):
        logits = jax.nn.log_softmax(forward(kernels, patches))
        return -jnp.mean(jnp.take_along_axis(logits, kinds[..., None], axis=3))

    loss, gradients = jax.value_and_grad(loss_fn)(kernels)
    return [k - 0.05 * g for k, g in zip(kernels, gradients, strict=True)], loss


def main(logdir, faulty):
    random = np.random.default_rng(40)
    reef = random.random((2048, 2048, 3)).astype(np.float32)
    kinds = random.integers(0, 7, (2048, 2048))
    shapes = ((3, 3, 3, 12), (3, 3, 12, 12), (12, 7))
    kernels = [jnp.asarray(random.normal(0, 0.1, shape), jnp.float32) for shape in shapes]
    corners = random.integers(0, 2000, (400, 2))
    every = 1 if faulty else 8

    def cut(number):
        places = [corners[(number * BATCH + one) % len(corners)] for one in range(BATCH)]
        patches = np.stack([reef[y : y + SIDE, x : x + SIDE] for y, x in places])
        patches = (patches - np.median(patches, axis=(1, 2), keepdims=True)) / patches.std()
        return patches, np.stack([kinds[y : y + SIDE, x : x + SIDE] for y, x in places])

    def train(kernels, steps, out):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("corals", step_num=number):
                kernels, loss = train_step(kernels, *cut(number))
                if number % every == 0:
                    print(number, float(loss), file=out)
        return jax.block_until_ready(kernels)

    with open(os.devnull, "w") as out:  # noqa: PTH123
        kernels = train(kernels, 4, out)
        with jax.profiler.trace(logdir):
            train(kernels, STEPS, out)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
