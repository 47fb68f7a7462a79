import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

LATENT, WIDTH, FEATURES, BATCH, BATCHES = 16, 128, 24, 128, 60


class Generator(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(LATENT, WIDTH, rngs=rngs)
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.second = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.last = nnx.Linear(WIDTH, FEATURES, rngs=rngs)

    def __call__(self, z):
        return self.last(nnx.gelu(self.second(nnx.gelu(self.norm(self.first(z))))))


class Discriminator(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(FEATURES, WIDTH, rngs=rngs)
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.second = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.last = nnx.Linear(WIDTH, 1, rngs=rngs)

    def __call__(self, x):
        x = nnx.leaky_relu(self.norm(self.first(x)), 0.2)
        return self.last(nnx.leaky_relu(self.second(x), 0.2))[:, 0]


def dis_loss_fn(dis, gen, real, z):
    labels = jnp.concatenate([jnp.ones(len(real)), jnp.zeros(len(z))])
    logits = dis(jnp.concatenate([real, gen(z)]))
    return optax.sigmoid_binary_cross_entropy(logits, labels).mean()


def gen_loss_fn(gen, dis, z):
    return optax.sigmoid_binary_cross_entropy(dis(gen(z)), jnp.ones(len(z))).mean()


@nnx.jit
def train_step(gen, dis, gen_opt, dis_opt, real, z):
    dis_loss, grads = nnx.value_and_grad(dis_loss_fn)(dis, gen, real, z)
    dis_opt.update(dis, grads)
    gen_loss, grads = nnx.value_and_grad(gen_loss_fn)(gen, dis, z)
    gen_opt.update(gen, grads)
    return gen_loss, dis_loss


def make_data(rng, number=BATCH * BATCHES):
    mixing = rng.normal(size=(5, FEATURES))
    cluster = rng.integers(0, 5, number)
    return (mixing[cluster] + 0.2 * rng.normal(size=(number, FEATURES))).astype("float32")


def train(n_epochs):
    rng, rngs = np.random.default_rng(0), nnx.Rngs(0)
    data = make_data(rng)
    gen = Generator(rngs)
    gen_opt = nnx.Optimizer(gen, optax.adam(2e-4, b1=0.5), wrt=nnx.Param)
    for epoch in range(n_epochs):
        # a fresh discriminator for each epoch, so that it does not overpower the generator
        dis = Discriminator(rngs)
        dis_opt = nnx.Optimizer(dis, optax.adam(1e-3, b1=0.5), wrt=nnx.Param)
        order = rng.permutation(len(data)).reshape(BATCHES, BATCH)
        for batch in order:
            z = rng.normal(size=(BATCH, LATENT)).astype("float32")
            gen_loss, dis_loss = train_step(gen, dis, gen_opt, dis_opt, data[batch], z)
        print(f"epoch {epoch}, generator {float(gen_loss):.3f}, discriminator {float(dis_loss):.3f}", flush=True)


train(int(os.environ.get("STEPS", 8)))
