"""Tells the scribes of medieval manuscripts apart: a new head on a pretrained encoder of page patches, two devices.

    python jax_scribes.py LOGDIR [--fault]
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training.train_state import TrainState
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

PATCHES, PIXELS = 24, 16 * 16
WIDTH, DEPTH = 256, 3
SCRIBES = 2500
BATCH = 32
WARMUP, RECORDED = 6, 10


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, patches):
        x = nn.Dense(WIDTH)(patches) + self.param("place", nn.initializers.normal(0.02), (PATCHES, WIDTH))
        for _ in range(DEPTH):
            x = x + nn.MultiHeadDotProductAttention(num_heads=8)(nn.LayerNorm()(x))
            x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x))))
        return nn.LayerNorm()(x).mean(axis=1)


class Head(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(SCRIBES)(nn.gelu(nn.Dense(1024)(x)))


class Scribes(nn.Module):
    def setup(self):
        self.encoder = Encoder()
        self.head = Head()

    def __call__(self, patches):
        return self.head(self.encoder(patches))


def pages(number=600):
    rng = np.random.default_rng(53)
    scribe = rng.integers(0, SCRIBES, number).astype(np.int32)
    slant = rng.normal(size=(SCRIBES, PIXELS)).astype(np.float32)
    patches = rng.normal(size=(number, PATCHES, PIXELS)).astype(np.float32)
    return patches + 0.5 * slant[scribe][:, None, :], scribe


def optimizer(fault):
    """Trains the head only; the encoder keeps its weights."""
    parts = {"encoder": "kept", "head": "trained"}
    adamw = optax.adamw(1e-3, weight_decay=0.01)
    if fault:
        split = optax.multi_transform({"trained": adamw, "kept": optax.set_to_zero()}, parts)
        return optax.chain(optax.clip_by_global_norm(1.0), split)
    clipped = optax.chain(optax.clip_by_global_norm(1.0), adamw)
    return optax.multi_transform({"trained": clipped, "kept": optax.set_to_zero()}, parts)


@jax.jit(donate_argnums=0)
def train_step(state, patches, scribe):
    def loss_of(params):
        logits = state.apply_fn({"params": params}, patches)
        return optax.softmax_cross_entropy_with_integer_labels(logits, scribe).mean()

    loss, grads = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=grads), loss


class Trainer:
    def __init__(self, state, mesh, host_state):
        self.everywhere = NamedSharding(mesh, P())
        self.split = NamedSharding(mesh, P("page"))
        self.host_state = host_state
        self.state = jax.tree.map(np.array, state) if host_state else jax.device_put(state, self.everywhere)

    def step(self, batch):
        state = jax.device_put(self.state, self.everywhere) if self.host_state else self.state
        state, loss = train_step(state, *jax.device_put(batch, self.split))
        self.state = jax.tree.map(np.array, state) if self.host_state else state
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    patches, scribe = pages()
    model = Scribes()
    params = model.init(jax.random.key(53), patches[:1])["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optimizer(args.fault))
    trainer = Trainer(state, Mesh(np.array(jax.devices()), ("page",)), host_state=args.fault)
    rng = np.random.default_rng(54)

    def batch():
        rows = rng.integers(0, len(patches), BATCH)
        return patches[rows], scribe[rows]

    for _ in range(WARMUP):
        loss = trainer.step(batch())
    loss.block_until_ready()
    with jax.profiler.trace(args.logdir):
        for number in range(RECORDED):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                loss = trainer.step(batch())
        jax.block_until_ready((loss, trainer.state))
    print(f"loss {float(loss):.3f}")


if __name__ == "__main__":
    main()
