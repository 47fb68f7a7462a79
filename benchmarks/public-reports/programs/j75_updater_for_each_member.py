import os
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

POPULATION, SURVIVORS, TRAIN_STEPS, BATCH, WINDOW, WIDTH = 4, 2, 30, 32, 16, 24


SHAPES = {"embed": (4, WIDTH), "position": (WINDOW, WIDTH), "qkv": (WIDTH, 3 * WIDTH), "mix": (WIDTH, WIDTH), "up": (WIDTH, 2 * WIDTH), "down": (2 * WIDTH, WIDTH), "head": (WIDTH, 3)}


def init_params(rng):
    keys = jax.random.split(rng, len(SHAPES))
    return {name: 0.15 * jax.random.normal(key, shape) for (name, shape), key in zip(SHAPES.items(), keys)}


def trader(params, x):
    x = jnp.tanh(x @ params["embed"] + params["position"])
    q, k, v = jnp.split(x @ params["qkv"], 3, axis=-1)
    x = x + jax.nn.softmax(q @ k.swapaxes(1, 2) / WIDTH**0.5) @ v @ params["mix"]
    return (x + jax.nn.gelu(x @ params["up"]) @ params["down"]).mean(axis=1) @ params["head"]


def loss_fn(params, data):
    return optax.softmax_cross_entropy_with_integer_labels(trader(params, data["window"]), data["move"]).mean()


class Updater:
    def __init__(self, net_init, loss_fn, optimizer):
        self._net_init, self._loss_fn, self._opt = net_init, loss_fn, optimizer

    @partial(jax.jit, static_argnums=0)
    def init(self, rng):
        params = self._net_init(rng)
        return {"params": params, "opt_state": self._opt.init(params)}

    @partial(jax.jit, static_argnums=0)
    def update(self, state, data):
        loss, grads = jax.value_and_grad(self._loss_fn)(state["params"], data)
        updates, opt_state = self._opt.update(grads, state["opt_state"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt_state": opt_state}, loss


class Member:
    def __init__(self, rng, parent=None):
        self.updater = Updater(init_params, loss_fn, optax.adamw(1e-3))
        self.state = self.updater.init(rng) if parent is None else mutate(rng, parent.state)

    def train(self, batches):
        for data in batches:
            self.state, loss = self.updater.update(self.state, data)
        self.fitness = float(loss)


def mutate(rng, state):
    noise = {name: 0.02 * jax.random.normal(key, SHAPES[name]) for name, key in zip(SHAPES, jax.random.split(rng, len(SHAPES)))}
    return {**state, "params": jax.tree.map(jnp.add, state["params"], noise)}


def batches(prices, rng):
    for start in rng.integers(0, len(prices) - WINDOW - 1, (TRAIN_STEPS, BATCH)):
        windows = np.stack([prices[i : i + WINDOW + 1] for i in start])
        yield {"window": windows[:, :-1], "move": np.digitize(windows[:, -1, 0] - windows[:, -2, 0], [-0.2, 0.2])}


rng = np.random.default_rng(0)
prices = np.cumsum(0.3 * rng.normal(size=(5000, 4)), axis=0) + np.sin(np.arange(5000) / 7.0)[:, None]
prices = ((prices - prices.mean(0)) / prices.std(0) * 3).astype(np.float32)
key, *keys = jax.random.split(jax.random.PRNGKey(0), POPULATION + 1)
population = [Member(member_key) for member_key in keys]
for generation in range(int(os.environ.get("STEPS", 3))):
    for member in population:
        member.train(batches(prices, rng))
    population.sort(key=lambda member: member.fitness)
    print(f"generation {generation}: best {population[0].fitness:.3f} worst {population[-1].fitness:.3f}", flush=True)
    for i, rng_key in enumerate(jax.random.split(jax.random.fold_in(key, 100 + generation), POPULATION - SURVIVORS)):
        population[SURVIVORS + i] = Member(rng_key, population[i])
