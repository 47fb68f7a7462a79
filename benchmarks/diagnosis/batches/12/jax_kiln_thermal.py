"""Firing faults of roof tiles from the thermal pictures of a tunnel kiln (six bands)."""

import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state

SIDE, BANDS = 56, 6
FAULTS = 9
TILES = 320
BATCH = 16
WARM_UP, RECORDED = 6, 12


def tiles(seed=14):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, FAULTS, TILES)
    yy, xx = np.mgrid[:SIDE, :SIDE].astype(np.float32) / SIDE
    pictures = np.empty((TILES, SIDE, SIDE, BANDS), np.float32)
    for picture, k in zip(pictures, label):
        hot = np.exp(-((xx - 0.1 * k) ** 2 + (yy - 0.5) ** 2) * 20)
        picture[:] = 900 + 80 * hot[..., None] * rng.random(BANDS) + 15 * rng.standard_normal((SIDE, SIDE, BANDS))
    return pictures, label.astype(np.int32)


class TileNet(nn.Module):
    keep_maps: bool

    @nn.compact
    def __call__(self, x):
        for n, (width, stride) in enumerate(((24, 1), (24, 2), (48, 1), (64, 2))):
            x = nn.Conv(width, (3, 3), strides=stride, use_bias=False)(x)
            raw = x
            x = nn.relu(nn.GroupNorm(num_groups=8)(x))
            if self.keep_maps:
                self.sow("intermediates", f"conv{n}", raw)
                self.sow("intermediates", f"block{n}", x)
            else:
                self.sow("intermediates", f"conv{n}", jnp.stack([raw.mean(), raw.std()]))
                self.sow("intermediates", f"block{n}", jnp.stack([x.mean(), (x == 0).mean()]))
        return nn.Dense(FAULTS)(x.mean((1, 2)))


def describe(maps):
    """Statistics of each block, for the run's notebook."""
    rows = {}
    for name, (value,) in maps.items():
        value = np.asarray(value)
        if value.ndim > 1:
            counts, edges = np.histogram(value, bins=64)
            rows[name] = (float(value.mean()), np.percentile(value, [1, 50, 99]), counts, edges)
        else:
            rows[name] = tuple(value.tolist())
    return rows


def rescale(pictures, low, high):
    return jnp.clip((pictures - low) / (high - low), -1.0, 2.0)


def make_step(robust):
    @jax.jit
    def train_step(state, pictures, low, high, labels):
        if robust:
            low, high = jnp.percentile(pictures, jnp.array([5.0, 95.0]), axis=(1, 2), keepdims=True)
        x = rescale(pictures, low, high)

        def loss_fn(params):
            logits, extra = state.apply_fn({"params": params}, x, mutable=["intermediates"])
            loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
            return loss, extra["intermediates"]

        (loss, maps), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
        return state.apply_gradients(grads=grads), loss, maps

    return train_step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    pictures, labels = tiles()
    low, high = np.percentile(pictures, [5.0, 95.0], axis=(1, 2), keepdims=True).astype(np.float32)
    model = TileNet(keep_maps=args.fault)
    params = model.init(jax.random.key(1), pictures[:1])["params"]
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-3))
    train_step = make_step(robust=args.fault)
    rng = np.random.default_rng(9)
    notebook = []

    def advance(state):
        rows = rng.choice(TILES, BATCH, replace=False)
        state, loss, maps = train_step(state, pictures[rows], low[rows], high[rows], labels[rows])
        notebook.append({"loss": float(loss), **describe(maps)})
        return state

    for _ in range(WARM_UP):
        state = advance(state)
    with jax.profiler.trace(args.logdir):
        for _ in range(RECORDED):
            state = advance(state)
    print(f"loss {notebook[-1]['loss']:.3f} after {len(notebook)} steps")


if __name__ == "__main__":
    main()
