"""Colour of a pottery glaze over a firing: recipe tokens and kiln curve in, colour out (Flax NNX)."""
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

OXIDES, KILN = 24, 48
WIDTH, DEPTH = 96, 2
BATCH = 64
PER_EPOCH = 5
WARMUP, RECORDED = 2 * PER_EPOCH, 2 * PER_EPOCH


class Mixer(nnx.Module):
    def __init__(self, rngs):
        self.norm1 = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.tokens = nnx.Linear(OXIDES + KILN, OXIDES + KILN, rngs=rngs)
        self.norm2 = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        x = x + jnp.swapaxes(self.tokens(jnp.swapaxes(self.norm1(x), 1, 2)), 1, 2)
        return x + self.down(nnx.gelu(self.up(self.norm2(x))))


class GlazeNet(nnx.Module):
    def __init__(self, rngs):
        self.oxide = nnx.Embed(OXIDES, WIDTH, rngs=rngs)
        self.amount = nnx.Linear(1, WIDTH, rngs=rngs)
        self.kiln = nnx.Linear(2, WIDTH, rngs=rngs)
        self.blocks = nnx.List([Mixer(rngs) for _ in range(DEPTH)])
        self.colour = nnx.Linear(WIDTH, 3, rngs=rngs)

    def __call__(self, amounts, curve):
        recipe = self.oxide(jnp.arange(OXIDES))[None] + self.amount(amounts[..., None])
        x = jnp.concatenate([recipe, self.kiln(curve)], axis=1)
        for block in self.blocks:
            x = block(x)
        return jax.nn.sigmoid(self.colour(x.mean(1)))


def firings(n, seed=12):
    rng = np.random.default_rng(seed)
    amounts = rng.dirichlet(np.full(OXIDES, 0.4), n).astype(np.float32)
    hours = np.linspace(0, 1, KILN, dtype=np.float32)
    peak = rng.uniform(0.8, 1.3, (n, 1)).astype(np.float32)
    curve = np.stack([np.broadcast_to(hours, (n, KILN)), peak * np.sin(np.pi * hours)], -1).astype(np.float32)
    colour = 1 / (1 + np.exp(-(amounts @ rng.standard_normal((OXIDES, 3)) * 3 + peak - 1)))
    return amounts, curve, colour.astype(np.float32)


@nnx.jit
def train_step(model, optimizer, amounts, curve, colour):
    def loss_fn(model):
        return jnp.mean((model(amounts, curve) - colour) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


def learning_rate(epoch):
    return 1e-3 * 0.8**epoch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    model = GlazeNet(nnx.Rngs(0))
    if args.fault:
        rate = learning_rate(0)
    else:
        rate = lambda count: learning_rate(count // PER_EPOCH)
    optimizer = nnx.Optimizer(model, optax.adam(rate), wrt=nnx.Param)
    data = firings(2400)
    rng = np.random.default_rng(3)

    def run(first, steps):
        loss = None
        for step in range(first, first + steps):
            if args.fault and step % PER_EPOCH == 0:
                optimizer.tx = optax.adam(learning_rate(step // PER_EPOCH))
            rows = rng.integers(0, 2400, BATCH)
            loss = train_step(model, optimizer, *(part[rows] for part in data))
        return jax.block_until_ready(loss)

    print("warm", float(run(0, WARMUP)))
    with jax.profiler.trace(args.logdir):
        loss = run(WARMUP, RECORDED)
    print("loss", float(loss))


if __name__ == "__main__":
    main()
