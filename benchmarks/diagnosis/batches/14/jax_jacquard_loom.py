"""Finds weaving faults in pictures of cloth from a Jacquard loom, on two devices.

    python jax_jacquard_loom.py LOGDIR
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import argparse
import queue
import threading

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training.train_state import TrainState
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SIDE, CROP = 80, 64
FAULTS = 7
BATCH = 32
WARMUP, RECORDED = 7, 10


def cloth(number=600):
    rng = np.random.default_rng(31)
    fault = rng.integers(0, FAULTS, number).astype(np.int32)
    y, x = np.mgrid[:SIDE, :SIDE]
    weave = 0.5 + 0.3 * np.sign(np.sin(0.9 * x) * np.sin(0.7 * y))
    pictures = weave + 0.05 * rng.standard_normal((number, SIDE, SIDE))
    for picture, kind in zip(pictures, fault):
        row = rng.integers(8, SIDE - 8)
        picture[row : row + kind] *= 0.4
    return pictures[..., None].astype(np.float32), fault


class Inspector(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (16, 32, 48):
            x = nn.Conv(width, (3, 3), strides=2)(x)
            x = nn.GroupNorm(num_groups=8)(x)
            x = nn.gelu(x)
        x = nn.gelu(nn.Conv(64, (3, 3))(x))
        x = jnp.concatenate([x.mean(axis=(1, 2)), x.max(axis=(1, 2))], axis=-1)
        return nn.Dense(FAULTS)(nn.gelu(nn.Dense(128)(x)))


def feed(pictures, fault, place, out, stop):
    """Cuts random crops in a thread of its own, a few batches ahead."""
    rng = np.random.default_rng(32)
    while not stop.is_set():
        rows = rng.integers(0, len(pictures), BATCH)
        top, left = rng.integers(0, SIDE - CROP + 1, 2)
        crops = pictures[rows, top : top + CROP, left : left + CROP]
        item = jax.device_put((np.ascontiguousarray(crops), fault[rows]), place)
        while not stop.is_set():
            try:
                out.put(item, timeout=0.5)
                break
            except queue.Full:
                pass


@jax.jit(donate_argnums=0)
def train_step(state, pictures, fault):
    def loss_of(params):
        logits = state.apply_fn({"params": params}, pictures)
        return optax.softmax_cross_entropy_with_integer_labels(logits, fault).mean()

    loss, grads = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=grads), loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    mesh = Mesh(np.array(jax.devices()), ("cloth",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    split = NamedSharding(mesh, PartitionSpec("cloth"))

    model = Inspector()
    params = model.init(jax.random.key(31), jnp.zeros((1, CROP, CROP, 1)))["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-3))
    state = jax.device_put(state, everywhere)

    batches, stop = queue.Queue(maxsize=3), threading.Event()
    feeder = threading.Thread(target=feed, args=(*cloth(), split, batches, stop), daemon=True)
    feeder.start()

    for _ in range(WARMUP):
        state, loss = train_step(state, *batches.get())
    jax.block_until_ready(loss)
    jax.profiler.start_trace(args.logdir)
    losses = []
    for _ in range(RECORDED):
        state, loss = train_step(state, *batches.get())
        losses.append(loss)
    jax.block_until_ready(state)
    jax.profiler.stop_trace()
    stop.set()
    feeder.join()
    print("mean loss", float(np.mean(jax.device_get(losses))))


if __name__ == "__main__":
    main()
