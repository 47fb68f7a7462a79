"""Coral cover from reef photo tiles with Flax linen; checkpoints with Orbax."""
import argparse
import shutil
import tempfile

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax.training import train_state

SIDE, CLASSES = 40, 9
BATCH = 48
WARMUP, RECORDED = 10, 12
SAVE_EVERY = 16


class Block(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x, train):
        y = nn.Conv(self.features, (3, 3), use_bias=False)(x)
        y = nn.relu(nn.BatchNorm(use_running_average=not train)(y))
        y = nn.Conv(self.features, (3, 3), use_bias=False)(y)
        y = nn.BatchNorm(use_running_average=not train)(y)
        if x.shape[-1] != self.features:
            x = nn.Conv(self.features, (1, 1))(x)
        return nn.relu(x + y)


class ReefNet(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(16, (5, 5), strides=(2, 2))(x)
        for features in (16, 32, 48):
            x = Block(features)(x, train)
            x = nn.avg_pool(x, (2, 2), (2, 2))
        x = x.mean((1, 2))
        return nn.Dense(CLASSES)(x)


class State(train_state.TrainState):
    batch_stats: dict


def tiles(n, seed=4):
    rng = np.random.default_rng(seed)
    cover = rng.dirichlet(np.ones(CLASSES), n).astype(np.float32)
    palette = rng.uniform(0, 1, (CLASSES, 3))
    base = (cover @ palette)[:, None, None, :]
    return (base + 0.2 * rng.standard_normal((n, SIDE, SIDE, 3))).astype(np.float32), cover


@jax.jit
def train_step(state, images, cover):
    def loss_fn(params):
        logits, new = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats}, images, True, mutable=["batch_stats"]
        )
        return optax.softmax_cross_entropy(logits, cover).mean(), new["batch_stats"]

    (loss, stats), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, batch_stats=stats), loss


def batches(images, cover, seed=0):
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(images))
        for i in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[i : i + BATCH]
            yield images[rows], cover[rows]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args, _ = parser.parse_known_args()

    images, cover = tiles(1200)
    model = ReefNet()
    variables = model.init(jax.random.key(3), jnp.zeros((1, SIDE, SIDE, 3)), True)
    state = State.create(
        apply_fn=model.apply, params=variables["params"], batch_stats=variables["batch_stats"], tx=optax.adamw(1e-3)
    )
    data = batches(images, cover)
    folder = tempfile.mkdtemp(prefix="reef_")
    try:
        options = ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=True)
        with ocp.CheckpointManager(folder, options=options) as manager:
            losses = []
            for step in range(WARMUP):
                state, loss = train_step(state, *next(data))
                if step == 2:
                    manager.save(step, args=ocp.args.StandardSave((state.params, state.batch_stats)))
            manager.wait_until_finished()
            print("warm", float(loss))

            jax.profiler.start_trace(args.logdir)
            for step in range(WARMUP, WARMUP + RECORDED):
                state, loss = train_step(state, *next(data))
                losses.append(loss)
                if step % SAVE_EVERY == 0:
                    manager.save(step, args=ocp.args.StandardSave((state.params, state.batch_stats)))
            jax.block_until_ready(losses)
            jax.profiler.stop_trace()
            print("mean loss", float(np.mean(jax.device_get(losses))))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
