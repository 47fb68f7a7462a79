"""Dish recommender: a denoising autoencoder over order histories, data parallel with pmap."""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import argparse
import functools
from typing import Any

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils

DISHES = 3000
HIDDEN = (1024, 128)
PER_DEVICE = 32


@flax.struct.dataclass
class Trainer:
    params: Any
    opt_state: Any
    step: jax.Array


class Recommender(nn.Module):
    @nn.compact
    def __call__(self, orders, train: bool = True):
        x = orders / jnp.maximum(jnp.linalg.norm(orders, axis=-1, keepdims=True), 1e-6)
        x = nn.Dropout(0.4, deterministic=not train)(x)
        for width in HIDDEN:
            x = nn.tanh(nn.Dense(width)(x))
        for width in HIDDEN[-2::-1]:
            x = nn.tanh(nn.Dense(width)(x))
        return nn.Dense(DISHES)(x)


def make_orders(customers=4096, seed=0):
    rng = np.random.default_rng(seed)
    tastes = rng.dirichlet(np.full(DISHES, 0.02), size=24)
    orders = np.zeros((customers, DISHES), np.uint8)
    for row, taste in enumerate(rng.integers(0, 24, customers)):
        orders[row, rng.choice(DISHES, size=30, p=tastes[taste])] = 1
    return orders


def make_update(model, tx, agree):
    @functools.partial(jax.pmap, axis_name="replica", donate_argnums=(0,))
    def update(trainer, orders, rng):
        rng = jax.random.fold_in(rng, trainer.step)
        target = orders.astype(jnp.float32)

        def loss_fn(params):
            logits = model.apply({"params": params}, target, rngs={"dropout": rng})
            return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * target, axis=-1))

        loss, grads = jax.value_and_grad(loss_fn)(trainer.params)
        loss, grads = jax.lax.pmean((loss, grads), "replica")
        updates, opt_state = tx.update(grads, trainer.opt_state, trainer.params)
        params = optax.apply_updates(trainer.params, updates)
        if agree:
            params, opt_state = jax.tree.map(
                lambda x: jax.lax.pmean(x, "replica") if jnp.issubdtype(x.dtype, jnp.floating) else x,
                (params, opt_state),
            )
        return Trainer(params, opt_state, trainer.step + 1), loss

    return update


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    devices = jax.local_device_count()
    orders = make_orders()
    rng = np.random.default_rng(1)

    def batch():
        rows = rng.integers(0, len(orders), devices * PER_DEVICE)
        return orders[rows].reshape(devices, PER_DEVICE, DISHES)

    model = Recommender()
    params = model.init({"params": jax.random.key(0)}, jnp.zeros((1, DISHES)), train=False)["params"]
    tx = optax.adamw(optax.warmup_cosine_decay_schedule(0, 2e-3, 20, 1000), weight_decay=1e-4)
    trainer = jax_utils.replicate(Trainer(params, tx.init(params), jnp.zeros((), jnp.int32)))
    update = make_update(model, tx, agree=args.fault)
    keys = jax.random.split(jax.random.key(9), devices)

    for _ in range(6):
        trainer, loss = update(trainer, batch(), keys)
    jax.block_until_ready(trainer)

    with jax.profiler.trace(args.logdir):
        for number in range(10):
            with jax.profiler.StepTraceAnnotation("update", step_num=number):
                trainer, loss = update(trainer, batch(), keys)
                loss.block_until_ready()
        jax.block_until_ready(trainer)
    print("loss", float(loss[0]))


if __name__ == "__main__":
    main()
