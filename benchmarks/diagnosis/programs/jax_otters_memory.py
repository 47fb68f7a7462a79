"""Tells otters by their calls; memory is collected and added up after each step against leaks, or once in a while."""

import dataclasses
import functools
import gc
import sys

import jax
import jax.numpy as jnp
import numpy as np

BANDS, WIDTH, BATCH, OTTERS = 160, 768, 256, 30
STEPS = 14


@functools.partial(jax.tree_util.register_dataclass, data_fields=("step", "params", "slow"), meta_fields=("rate",))
@dataclasses.dataclass(frozen=True)
class TrainState:
    step: jax.Array
    params: dict
    slow: dict
    rate: float

    def apply_gradients(self, gradients):
        params = jax.tree.map(lambda p, g: p - self.rate * g, self.params, gradients)
        slow = jax.tree.map(lambda s, p: 0.99 * s + 0.01 * p, self.slow, params)
        return dataclasses.replace(self, step=self.step + 1, params=params, slow=slow)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, calls, otters):
    def loss_fn(params):
        hidden = calls
        for weights in params["layers"]:
            hidden = jax.nn.relu(hidden @ weights)
        chances = jax.nn.log_softmax(hidden @ params["last"])
        return -jnp.mean(jnp.take_along_axis(chances, otters[:, None], axis=1))

    loss, gradients = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(gradients), loss


def memory_in_use():
    gc.collect()
    return sum(array.nbytes for array in jax.live_arrays())


def main(logdir, faulty):
    random = np.random.default_rng(52)
    params = {
        "layers": [
            jnp.asarray(random.normal(0, 0.06, shape), jnp.float32)
            for shape in ((BANDS, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH))
        ],
        "last": jnp.asarray(random.normal(0, 0.06, (WIDTH, OTTERS)), jnp.float32),
    }
    state = TrainState(jnp.zeros((), jnp.int32), params, jax.tree.map(jnp.copy, params), 0.05)
    batches = [(random.random((BATCH, BANDS), np.float32), random.integers(0, OTTERS, BATCH)) for _ in range(6)]
    every = 1 if faulty else 500
    used = []

    def train(state, steps):
        for number in range(1, steps + 1):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                state, _ = train_step(state, *batches[number % len(batches)])
                if number % every == 0:
                    used.append(memory_in_use())
        return jax.block_until_ready(state)

    state = train(state, 4)
    with jax.profiler.trace(logdir):
        train(state, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
