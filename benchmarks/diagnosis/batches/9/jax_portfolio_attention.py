"""Portfolio weights from attention across assets; days come from a torch DataLoader."""
import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from torch.utils.data import DataLoader, TensorDataset

DAYS, ASSETS, SIGNALS, LOOKBACK = 2500, 240, 20, 16
WIDTH, HEADS, LAYERS, BATCH = 64, 4, 2, 4
WARMUP, RECORDED = 8, 12


def make_market(rng):
    common = rng.normal(0, 0.01, (DAYS, 1))
    returns = common + rng.normal(0, 0.02, (DAYS, ASSETS))
    signals = rng.normal(0, 1, (DAYS, ASSETS, SIGNALS))
    signals[..., 0] = returns
    signals[..., 1] = np.abs(returns)
    return signals, returns


def dense(key, m, n):
    return {"w": jax.random.normal(key, (m, n)) / m**0.5, "b": jnp.zeros(n)}


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


def normalize(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def init(key):
    keys = iter(jax.random.split(key, 2 + 4 * LAYERS))
    blocks = [
        {
            "qkv": dense(next(keys), WIDTH, 3 * WIDTH),
            "out": dense(next(keys), WIDTH, WIDTH),
            "up": dense(next(keys), WIDTH, 4 * WIDTH),
            "down": dense(next(keys), 4 * WIDTH, WIDTH),
        }
        for _ in range(LAYERS)
    ]
    return {"stem": dense(next(keys), LOOKBACK * SIGNALS, WIDTH), "blocks": blocks, "head": dense(next(keys), WIDTH, 1)}


def attend(block, x):
    q, k, v = jnp.split(apply(block["qkv"], x).reshape(*x.shape[:-1], 3 * HEADS, WIDTH // HEADS), 3, axis=-2)
    out = jax.nn.dot_product_attention(q, k, v)
    return apply(block["out"], out.reshape(x.shape))


def weights_of(params, window):
    """window: [batch, lookback, assets, signals]"""
    x = jnp.moveaxis(window, 1, 2).reshape(window.shape[0], ASSETS, -1)
    x = apply(params["stem"], x)
    for block in params["blocks"]:
        x = x + attend(block, normalize(x))
        x = x + apply(block["down"], jax.nn.gelu(apply(block["up"], normalize(x))))
    return jnp.tanh(apply(params["head"], normalize(x))[..., 0]) / ASSETS


def loss_of(params, window, following):
    gain = jnp.sum(weights_of(params, window) * following, -1)
    return -gain.mean() / (gain.std() + 1e-4)


optimizer = optax.adamw(3e-4)


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, opt_state, signals, day, following):
    window = signals[day[:, None] - LOOKBACK + jnp.arange(LOOKBACK)]
    loss, grads = jax.value_and_grad(loss_of)(params, window, following)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    signals, returns = make_market(np.random.default_rng(0))
    if not args.fault:
        signals = jnp.asarray(signals, jnp.float32)

    days = torch.arange(LOOKBACK, DAYS)
    following = torch.tensor(returns[LOOKBACK:], dtype=torch.float32)
    loader = DataLoader(TensorDataset(days.int(), following), batch_size=BATCH, shuffle=True, drop_last=True)
    batches = iter(loader)

    params = init(jax.random.key(0))
    opt_state = optimizer.init(params)

    def one(params, opt_state):
        day, following = next(batches)
        return train_step(params, opt_state, signals, day.numpy(), following.numpy())

    for _ in range(WARMUP):
        params, opt_state, loss = one(params, opt_state)
    print("loss", float(loss))

    losses = []
    with jax.profiler.trace(args.logdir):
        for step in range(RECORDED):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                params, opt_state, loss = one(params, opt_state)
                losses.append(loss)
        jax.block_until_ready(losses)
    print("loss", float(losses[-1]))


if __name__ == "__main__":
    main()
