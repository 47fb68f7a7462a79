"""Predicts floods; indicators of how well are computed on the device inside the jitted step, or by jax.numpy after it."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

BATCH, GAUGES, WIDTH = 512, 128, 256
STEPS = 12


def indicators(levels, predicted):
    error = predicted - levels
    found = [jnp.mean(error), jnp.mean(jnp.abs(error)), jnp.sqrt(jnp.mean(error**2)), jnp.max(jnp.abs(error))]
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        high = levels > share
        found += [jnp.sum(jnp.where(high, error**2, 0)) / jnp.sum(high), jnp.mean((predicted > share) == high)]
    spread = jnp.std(levels) * jnp.std(predicted)
    found.append(jnp.mean((levels - levels.mean()) * (predicted - predicted.mean())) / spread)
    return found


def step(params, weather, levels):
    def loss_fn(params):
        hidden = weather
        for weights in params[:-1]:
            hidden = jnp.tanh(hidden @ weights)
        predicted = hidden @ params[-1]
        return jnp.mean((predicted - levels) ** 2), predicted

    (_, predicted), gradients = jax.value_and_grad(loss_fn, has_aux=True)(params)
    return [p - 0.01 * g for p, g in zip(params, gradients, strict=True)], predicted


@jax.jit
def step_with_indicators(params, weather, levels):
    params, predicted = step(params, weather, levels)
    return params, indicators(levels, predicted)


jitted_step = jax.jit(step)


def main(logdir, faulty):
    random = np.random.default_rng(37)
    shapes = ((GAUGES, WIDTH), (WIDTH, WIDTH), (WIDTH, 16))
    params = [jnp.asarray(random.normal(0, 0.1, shape), jnp.float32) for shape in shapes]
    weather = jnp.asarray(random.random((BATCH, GAUGES), np.float32))
    levels = jnp.asarray(random.random((BATCH, 16), np.float32))

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("rivers", step_num=number):
                if faulty:
                    params, predicted = jitted_step(params, weather, levels)
                    found = indicators(levels, predicted)
                else:
                    params, found = step_with_indicators(params, weather, levels)
                jax.block_until_ready((params, found))
        return params

    params = train(params, 3)
    with jax.profiler.trace(logdir):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
