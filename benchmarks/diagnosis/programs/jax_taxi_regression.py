"""Fits a linear regression with random features on taxi rides; rows of a CSV file are parsed in the loop or beforehand."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

ROWS, COLUMNS = 512, 48
FEATURES = 2048
STEPS = 24


@jax.jit
def train_step(weights, directions, rides):
    inputs, fares = rides[:, :-1], rides[:, -1]

    def loss_fn(weights):
        features = jnp.cos(inputs @ directions)
        return jnp.mean((features @ weights - fares) ** 2) + 1e-4 * jnp.sum(weights**2)

    loss, gradient = jax.value_and_grad(loss_fn)(weights)
    return weights - 1e-3 * gradient, loss


def parse_rides(lines):
    rows = []
    for line in lines:
        rows.append([float(field) for field in line.split(",")])
    return np.array(rows, np.float32)


def main(logdir, faulty):
    random = np.random.default_rng(4)
    table = random.random((ROWS * 10, COLUMNS), np.float32)
    lines = [",".join(f"{value:.4f}" for value in row) for row in table]
    directions = jnp.asarray(random.normal(0, 1, (COLUMNS - 1, FEATURES)), jnp.float32)
    weights = jnp.zeros(FEATURES)
    parsed = parse_rides(lines)

    def train(weights, steps):
        for number in range(steps):
            start = number % 10 * ROWS
            with jax.profiler.StepTraceAnnotation("fit", step_num=number):
                rides = parse_rides(lines[start : start + ROWS]) if faulty else parsed[start : start + ROWS]
                weights, loss = train_step(weights, directions, rides)
                loss.block_until_ready()
        return weights

    weights = train(weights, 4)
    jax.profiler.start_trace(logdir)
    train(weights, STEPS)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
