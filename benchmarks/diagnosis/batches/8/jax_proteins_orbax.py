"""Masked-residue transformer over protein fragments with a table of pretrained k-mer vectors; checkpoints with orbax."""

import argparse
import functools
import pathlib
import shutil
import tempfile

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import traverse_util
from flax.training import train_state

RESIDUES = 20
MASK = 20
LENGTH = 96
KMER = 4
KMER_DIM = 64
DIM, HEADS, DEPTH = 192, 6, 4
BATCH = 8


class Layer(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = x + nn.MultiHeadDotProductAttention(HEADS)(nn.LayerNorm()(x))
        h = nn.gelu(nn.Dense(4 * DIM)(nn.LayerNorm()(x)))
        return x + nn.Dense(DIM)(h)


class ProteinModel(nn.Module):
    @nn.compact
    def __call__(self, residues, kmers):
        table = nn.Embed(RESIDUES**KMER, KMER_DIM, name="pretrained_kmers")
        x = nn.Embed(RESIDUES + 1, DIM)(residues) + nn.Dense(DIM)(table(kmers))
        x = x + self.param("position", nn.initializers.normal(0.02), (LENGTH, DIM))
        for _ in range(DEPTH):
            x = Layer()(x)
        return nn.Dense(RESIDUES)(nn.LayerNorm()(x))


def make_batch(rng):
    residues = rng.integers(0, RESIDUES, (BATCH, LENGTH + KMER - 1)).astype(np.int32)
    residues[:, 1::2] = (residues[:, 0:-1:2] * 7 + 3) % RESIDUES
    powers = RESIDUES ** np.arange(KMER)
    windows = np.lib.stride_tricks.sliding_window_view(residues, KMER, axis=1)
    masked = rng.random((BATCH, LENGTH)) < 0.15
    seen = np.where(masked, MASK, residues[:, :LENGTH]).astype(np.int32)
    context = np.roll((windows @ powers).astype(np.int32), KMER, axis=1)
    return {"seen": seen, "kmers": context, "target": residues[:, :LENGTH], "masked": masked}


def is_pretrained(params):
    return traverse_util.path_aware_map(lambda path, _: "pretrained" if "kmers" in path[0] else "trained", params)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, batch["seen"], batch["kmers"])
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["target"])
        return jnp.sum(loss * batch["masked"]) / jnp.maximum(batch["masked"].sum(), 1)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    new_state = state.apply_gradients(grads=grads)
    kept = flax.core.copy(new_state.params, {"pretrained_kmers": state.params["pretrained_kmers"]})
    return new_state.replace(params=kept), loss


def main(logdir, fault, folder):
    rng = np.random.default_rng(0)
    model = ProteinModel()
    first = make_batch(rng)
    params = jax.jit(model.init)(jax.random.key(0), first["seen"], first["kmers"])["params"]
    tx = optax.adamw(3e-4, weight_decay=0.01)
    if not fault:
        tx = optax.multi_transform({"trained": tx, "pretrained": optax.set_to_zero()}, is_pretrained)
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)

    options = ocp.CheckpointManagerOptions(max_to_keep=3, save_interval_steps=1 if fault else 100)
    manager = ocp.CheckpointManager(folder, options=options)

    def train(first, last):
        nonlocal state
        for step in range(first, last):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                state, loss = train_step(state, make_batch(rng))
                if manager.should_save(step):
                    trained = {k: v for k, v in state.params.items() if k != "pretrained_kmers"}
                    manager.save(step, args=ocp.args.StandardSave(trained))
                    if fault:
                        manager.wait_until_finished()
        return jax.block_until_ready(loss)

    train(0, 7)
    manager.wait_until_finished()
    with jax.profiler.trace(logdir):
        loss = train(7, 17)
    manager.close()
    print("loss", float(loss))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="proteins-"))
    try:
        main(options.logdir, options.fault, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
