"""Fits the masses of a pendulum to measurements; the step is jitted each time anew, or once."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

PENDULUMS, MOMENTS = 2048, 60
STEPS = 12


def swing(params, angle, speed):
    def moment(state, _):
        angle, speed = state
        speed = speed - 0.02 * (params["gravity"] * jnp.sin(angle) + params["friction"] * speed)
        angle = angle + 0.02 * speed
        return (angle, speed), angle

    _, angles = jax.lax.scan(moment, (angle, speed), None, length=MOMENTS)
    return angles


def loss_fn(params, angle, speed, measured):
    return jnp.mean((swing(params, angle, speed) - measured) ** 2)


def descend(params, angle, speed, measured, rate):
    slopes = jax.grad(loss_fn)(params, angle, speed, measured)
    return {name: params[name] - rate * slopes[name] for name in params}


def main(logdir, faulty):
    random = np.random.default_rng(11)
    angle, speed = (jnp.asarray(random.normal(0, 1, PENDULUMS), jnp.float32) for _ in range(2))
    measured = jax.jit(swing)({"gravity": 9.8, "friction": 0.3}, angle, speed)
    params = {"gravity": jnp.full(PENDULUMS, 5.0), "friction": jnp.zeros(PENDULUMS)}
    rate = 10.0
    descend_once = jax.jit(lambda *now: descend(*now, rate))

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("fit", step_num=number):
                step = jax.jit(lambda *now: descend(*now, rate)) if faulty else descend_once
                params = step(params, angle, speed, measured)
                jax.block_until_ready(params)
        return params

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    params = train(params, 3)
    with jax.profiler.trace(logdir, profiler_options=options):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
