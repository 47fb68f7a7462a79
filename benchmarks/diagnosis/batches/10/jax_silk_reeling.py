"""Spots thread breaks on a silk-reeling line from its tension sensors (mixer network, flax nnx)."""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

TICKS = 64
REELS = 64
WIDTH = 64
DEPTH = 20
EVENTS = 6
BATCH = 8
WARMUP, RECORDED = 8, 12


def tension_windows(count, seed=6):
    rng = np.random.default_rng(seed)
    event = rng.integers(0, EVENTS, count)
    tension = rng.standard_normal((count, TICKS, REELS)).cumsum(1) * 0.1
    for i, kind in enumerate(event):
        reel, tick = rng.integers(0, REELS), rng.integers(8, TICKS - 8)
        tension[i, tick:, reel] *= 1 - kind / EVENTS
    return tension.astype(np.float32), event.astype(np.int32)


class Mixer(nnx.Module):
    def __init__(self, rngs):
        self.norm_ticks = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.ticks_in = nnx.Linear(TICKS, 2 * TICKS, rngs=rngs)
        self.ticks_out = nnx.Linear(2 * TICKS, TICKS, rngs=rngs)
        self.norm_reels = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.reels_in = nnx.Linear(WIDTH, 2 * WIDTH, rngs=rngs)
        self.reels_out = nnx.Linear(2 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        y = jnp.swapaxes(self.norm_ticks(x), 1, 2)
        y = self.ticks_out(nnx.gelu(self.ticks_in(y)))
        x = x + jnp.swapaxes(y, 1, 2)
        return x + self.reels_out(nnx.gelu(self.reels_in(self.norm_reels(x))))


class BreakDetector(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Linear(REELS, WIDTH, rngs=rngs)
        self.blocks = nnx.List([Mixer(rngs) for _ in range(DEPTH)])
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.head = nnx.Linear(WIDTH, EVENTS, rngs=rngs)

    def __call__(self, tension):
        x = self.embed(tension)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(axis=1))


def loss_fn(model, tension, event):
    logits = model(tension)
    return optax.softmax_cross_entropy_with_integer_labels(logits, event).mean()


def update(model, optimizer, tension, event):
    loss, grads = nnx.value_and_grad(loss_fn)(model, tension, event)
    optimizer.update(model, grads)
    return loss


def object_trainer(model, optimizer):
    step = nnx.jit(update)
    return lambda tension, event: step(model, optimizer, tension, event)


def functional_trainer(model, optimizer):
    graphdef, state = nnx.split((model, optimizer))
    leaves, structure = jax.tree.flatten(state)

    @jax.jit
    def step(leaves, tension, event):
        model, optimizer = nnx.merge(graphdef, jax.tree.unflatten(structure, leaves))
        loss = update(model, optimizer, tension, event)
        return jax.tree.leaves(nnx.state((model, optimizer))), loss

    def run(tension, event):
        nonlocal leaves
        leaves, loss = step(leaves, tension, event)
        return loss

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    model = BreakDetector(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3, weight_decay=1e-4), wrt=nnx.Param)
    train = (object_trainer if args.fault else functional_trainer)(model, optimizer)
    tension, event = tension_windows(768)
    order = np.random.default_rng(2)

    def batch():
        rows = order.integers(0, len(event), BATCH)
        return tension[rows], event[rows]

    for _ in range(WARMUP):
        loss = train(*batch())
    jax.block_until_ready(loss)

    losses = []
    jax.profiler.start_trace(args.logdir)
    for step in range(RECORDED):
        with jax.profiler.StepTraceAnnotation("reel_step", step_num=step):
            losses.append(train(*batch()))
    jax.block_until_ready(losses)
    jax.profiler.stop_trace()
    print(f"loss {np.mean(losses):.4f}")


if __name__ == "__main__":
    main()
