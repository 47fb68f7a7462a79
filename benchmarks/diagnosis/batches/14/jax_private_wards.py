"""Differentially private training of a sepsis alarm on the records of two wards, one device each.

    python jax_private_wards.py LOGDIR [--fault]
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

HOURS, VITALS = 48, 16
WIDTH, INNER, BLOCKS = 128, 384, 3
BATCH = 64
CLIP, NOISE = 1.0, 0.8
WARMUP, RECORDED = 6, 10


def records(number=1200):
    rng = np.random.default_rng(43)
    vitals = np.cumsum(rng.normal(0, 0.3, (number, HOURS, VITALS)), axis=1).astype(np.float32)
    sepsis = (vitals[:, -6:, :3].mean(axis=(1, 2)) > 0.8).astype(np.float32)
    return vitals, sepsis


def init(key):
    def dense(key, rows, columns):
        return jax.random.normal(key, (rows, columns)) / rows**0.5

    keys = jax.random.split(key, 2 * BLOCKS + 2)
    blocks = [
        {"up": dense(keys[2 * i], WIDTH, INNER), "down": dense(keys[2 * i + 1], INNER, WIDTH)} for i in range(BLOCKS)
    ]
    return {"in": dense(keys[-2], VITALS, WIDTH), "blocks": blocks, "out": dense(keys[-1], WIDTH, 1)[:, 0]}


def loss_of(params, vitals, sepsis):
    x = vitals @ params["in"]
    for block in params["blocks"]:
        y = (x - x.mean(axis=-1, keepdims=True)) / (x.std(axis=-1, keepdims=True) + 1e-5)
        x = x + jax.nn.gelu(y @ block["up"]) @ block["down"]
    logit = x.mean(axis=0) @ params["out"]
    return optax.sigmoid_binary_cross_entropy(logit, sepsis)


def clipped_grads(params, vitals, sepsis):
    """The gradient of each patient, clipped to the norm CLIP."""
    losses, grads = jax.vmap(jax.value_and_grad(loss_of), in_axes=(None, 0, 0))(params, vitals, sepsis)
    norms = jax.vmap(optax.global_norm)(grads)
    scale = jnp.minimum(1.0, CLIP / (norms + 1e-6))
    return losses, jax.tree.map(lambda g: g * scale.reshape(-1, *[1] * (g.ndim - 1)), grads)


def make_step(mesh, tx, fault):
    def step(params, opt_state, key, vitals, sepsis):
        losses, grads = clipped_grads(params, vitals, sepsis)
        if fault:
            grads = jax.lax.all_gather(grads, "ward", tiled=True)
            total = jax.tree.map(lambda g: g.sum(axis=0), grads)
        else:
            total = jax.lax.psum(jax.tree.map(lambda g: g.sum(axis=0), grads), "ward")
        leaves, tree = jax.tree.flatten(total)
        keys = jax.random.split(key, len(leaves))
        noisy = [(g + CLIP * NOISE * jax.random.normal(k, g.shape)) / BATCH for g, k in zip(leaves, keys)]
        updates, opt_state = tx.update(jax.tree.unflatten(tree, noisy), opt_state, params)
        return optax.apply_updates(params, updates), opt_state, jax.lax.pmean(losses.mean(), "ward")

    wards = jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(P(), P(), P(), P("ward"), P("ward")),
        out_specs=(P(), P(), P()),
        check_vma=False,
    )
    return jax.jit(wards, donate_argnums=(0, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    mesh = Mesh(np.array(jax.devices()), ("ward",))
    split = NamedSharding(mesh, P("ward"))
    vitals, sepsis = records()
    params = init(jax.random.key(43))
    tx = optax.sgd(0.05, momentum=0.9)
    params, opt_state = jax.device_put((params, tx.init(params)), NamedSharding(mesh, P()))
    step = make_step(mesh, tx, args.fault)
    rng, key = np.random.default_rng(44), jax.random.key(44)

    def run(steps, params, opt_state):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("private_step", step_num=number):
                rows = rng.integers(0, len(vitals), BATCH)
                batch = jax.device_put((vitals[rows], sepsis[rows]), split)
                noise = jax.random.fold_in(key, int(rng.integers(1 << 31)))
                params, opt_state, loss = step(params, opt_state, noise, *batch)
        return params, opt_state, loss.block_until_ready()

    params, opt_state, loss = run(WARMUP, params, opt_state)
    with jax.profiler.trace(args.logdir):
        params, opt_state, loss = run(RECORDED, params, opt_state)
    print(f"loss {float(loss):.3f}")


if __name__ == "__main__":
    main()
