"""Sorts radar echoes of meteors (underdense, overdense, aeroplane, noise), with hard echoes drawn more often."""
import argparse
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state

COUNT, BATCH, KINDS = 6000, 256, 4
ROWS, COLUMNS = 32, 48
WARMUP, CAPTURED = 8, 12


def echoes(seed=12):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, KINDS, COUNT)
    t = np.linspace(0, 1, COLUMNS, dtype=np.float32)
    f = np.arange(ROWS, dtype=np.float32)[None, :, None]
    start = rng.uniform(0.1, 0.5, (COUNT, 1)).astype(np.float32)
    decay = np.where(kind == 0, 14.0, 3.0).astype(np.float32)[:, None]
    power = np.where(t > start, np.exp(-decay * (t - start)), 0) * (kind < 3)[:, None]
    centre = 16 + np.where(kind == 2, 20, 2)[:, None] * (t - 0.5)
    image = power[:, None, :] * np.exp(-0.5 * ((f - centre[:, None, :]) / 1.5) ** 2)
    image += 0.2 * rng.random((COUNT, ROWS, COLUMNS), dtype=np.float32)
    return image[..., None].astype(np.float32), kind.astype(np.int32)


class EchoNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width, stride in ((16, 2), (32, 2), (32, 1), (64, 2)):
            x = nn.Conv(width, (3, 3), strides=stride, use_bias=False)(x)
            x = nn.relu(nn.GroupNorm(8)(x))
        x = x.mean((1, 2))
        return nn.Dense(KINDS)(nn.relu(nn.Dense(128)(x)))


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, x, y):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, x)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, y)
        own = jnp.take_along_axis(logits, y[:, None], axis=1)[:, 0]
        rival = jnp.where(jax.nn.one_hot(y, KINDS, dtype=bool), -jnp.inf, logits).max(1)
        return losses.mean(), (losses, own - rival)

    (_, (losses, margins)), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), losses, margins


class Difficulty:
    """Running loss and margin of each echo; echoes with a large loss are drawn more often."""

    def __init__(self, count, seed=0):
        self.loss = np.full(count, 1.4)
        self.margin = np.zeros(count)
        self.rng = np.random.default_rng(seed)

    def draw(self):
        weight = self.loss + 0.05
        return self.rng.choice(len(weight), BATCH, replace=False, p=weight / weight.sum())

    def note(self, rows, losses, margins):
        self.loss[rows] = 0.7 * self.loss[rows] + 0.3 * np.asarray(losses)
        self.margin[rows] = np.asarray(margins)

    def note_each(self, rows, losses, margins):
        for k, row in enumerate(rows):
            self.loss[row] = 0.7 * self.loss[row] + 0.3 * float(losses[k])
            self.margin[row] = float(margins[k])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    x, y = echoes()
    model = EchoNet()
    params = model.init(jax.random.key(0), x[:1])["params"]
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(2e-3))
    difficulty = Difficulty(COUNT)
    note = difficulty.note_each if args.fault else difficulty.note

    def step(state):
        rows = difficulty.draw()
        state, losses, margins = train_step(state, x[rows], y[rows])
        note(rows, losses, margins)
        return state

    for _ in range(WARMUP):
        state = step(state)
    with jax.profiler.trace(args.logdir):
        for n in range(CAPTURED):
            with jax.profiler.StepTraceAnnotation("train", step_num=n):
                state = step(state)
    print("mean loss:", round(float(difficulty.loss.mean()), 3), "wrong:", round(float((difficulty.margin < 0).mean()), 3))


if __name__ == "__main__":
    main()
