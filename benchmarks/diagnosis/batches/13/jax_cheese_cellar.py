"""Predicts the ripeness of cheese wheels from two months of cellar readings; a transformer with a mixture of experts."""
import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH, DAYS, READINGS = 16, 64, 10
WIDTH, HIDDEN, EXPERTS, LAYERS, HEADS = 128, 256, 6, 2, 4
WARMUP, CAPTURED = 6, 10


def wheels(count=800, seed=9):
    rng = np.random.default_rng(seed)
    daily = np.cumsum(rng.normal(scale=0.2, size=(count, DAYS, READINGS)), axis=1)
    rate = 0.02 + 0.01 * np.tanh(daily[:, :, :3].sum(-1))
    return daily.astype(np.float32), np.cumsum(rate, axis=1).astype(np.float32)


class Expert(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, key):
        a, b = jax.random.split(key)
        self.up = eqx.nn.Linear(WIDTH, HIDDEN, key=a)
        self.down = eqx.nn.Linear(HIDDEN, WIDTH, key=b)

    def __call__(self, x):
        return self.down(jax.nn.gelu(self.up(x)))


def route_all(experts, tokens, gates, choice):
    """Outputs of the chosen experts, weighted by their gates: (tokens, width)."""
    outs = eqx.filter_vmap(lambda e: jax.vmap(e)(tokens))(experts)
    weight = jax.nn.one_hot(choice, EXPERTS) * gates[:, None]
    return jnp.einsum("etd,te->td", outs, weight)


def route_slots(experts, tokens, gates, choice):
    """Outputs of the chosen experts, weighted by their gates: (tokens, width). Overfull experts drop tokens."""
    slots = int(1.3 * tokens.shape[0] / EXPERTS)
    chosen = jax.nn.one_hot(choice, EXPERTS, dtype=jnp.int32)
    place = jnp.take_along_axis(jnp.cumsum(chosen, axis=0), choice[:, None], axis=1)[:, 0] - 1
    boxes = jnp.zeros((EXPERTS, slots, WIDTH)).at[choice, place].set(tokens, mode="drop")
    outs = eqx.filter_vmap(lambda e, box: jax.vmap(e)(box))(experts, boxes)
    return outs.at[choice, place].get(mode="fill", fill_value=0.0) * gates[:, None]


class Layer(eqx.Module):
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    attention: eqx.nn.MultiheadAttention
    router: eqx.nn.Linear
    experts: Expert
    route: callable = eqx.field(static=True)

    def __init__(self, route, key):
        a, b, c = jax.random.split(key, 3)
        self.norm1, self.norm2 = eqx.nn.LayerNorm(WIDTH), eqx.nn.LayerNorm(WIDTH)
        self.attention = eqx.nn.MultiheadAttention(HEADS, WIDTH, key=a)
        self.router = eqx.nn.Linear(WIDTH, EXPERTS, use_bias=False, key=b)
        self.experts = eqx.filter_vmap(Expert)(jax.random.split(c, EXPERTS))
        self.route = route

    def __call__(self, x):
        y = jax.vmap(jax.vmap(self.norm1))(x)
        x = x + jax.vmap(self.attention)(y, y, y)
        tokens = jax.vmap(jax.vmap(self.norm2))(x).reshape(-1, WIDTH)
        probs = jax.nn.softmax(jax.vmap(self.router)(tokens))
        choice = probs.argmax(-1)
        balance = EXPERTS * jnp.sum(probs.mean(0) * jax.nn.one_hot(choice, EXPERTS).mean(0))
        return x + self.route(self.experts, tokens, probs.max(-1), choice).reshape(x.shape), balance


class Cellar(eqx.Module):
    embed: eqx.nn.Linear
    places: jax.Array
    layers: list
    head: eqx.nn.Linear

    def __init__(self, route, key):
        a, b, c, d = jax.random.split(key, 4)
        self.embed = eqx.nn.Linear(READINGS, WIDTH, key=a)
        self.places = 0.02 * jax.random.normal(b, (DAYS, WIDTH))
        self.layers = [Layer(route, k) for k in jax.random.split(c, LAYERS)]
        self.head = eqx.nn.Linear(WIDTH, 1, key=d)

    def __call__(self, daily):
        x = jax.vmap(jax.vmap(self.embed))(daily) + self.places
        total = 0.0
        for layer in self.layers:
            x, balance = layer(x)
            total = total + balance
        return jax.vmap(jax.vmap(self.head))(x)[..., 0], total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    model = Cellar(route_all if args.fault else route_slots, jax.random.key(1))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    opt_state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit(donate="all")
    def train_step(model, opt_state, daily, ripe):
        def loss_fn(model):
            guess, balance = model(daily)
            return jnp.mean((guess - ripe) ** 2) + 0.01 * balance

        loss, grads = eqx.filter_value_and_grad(loss_fn)(model)
        updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), opt_state, loss

    daily, ripe = wheels()
    rng = np.random.default_rng(0)

    def step(model, opt_state):
        rows = rng.integers(0, len(daily), BATCH)
        return train_step(model, opt_state, daily[rows], ripe[rows])

    for _ in range(WARMUP):
        model, opt_state, loss = step(model, opt_state)
    loss.block_until_ready()
    jax.profiler.start_trace(args.logdir)
    for _ in range(CAPTURED):
        model, opt_state, loss = step(model, opt_state)
    loss.block_until_ready()
    jax.profiler.stop_trace()
    print("loss:", round(float(loss), 4))


if __name__ == "__main__":
    main()
