"""Bleaching risk of coral reefs: a message passing network on graphs of neighbouring colonies (equinox)."""
import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

COLONY, WIDTH, LAYERS, BATCH = 12, 128, 3, 32
MAX_COLONIES, MAX_LINKS = 1024, 3584


def make_reefs(count, seed):
    rng = np.random.default_rng(seed)
    reefs = []
    for _ in range(count):
        colonies = int(rng.integers(14, 38))
        links = int(colonies * rng.uniform(2.8, 4.2))
        features = rng.normal(size=(colonies, COLONY)).astype(np.float32)
        ends = rng.integers(0, colonies, (2, links)).astype(np.int32)
        reefs.append((features, ends, np.float32(features[:, 0].mean() > 0)))
    return reefs


def round_up(number, multiple):
    return -(-(number + 1) // multiple) * multiple


def collate(reefs, fault):
    """Joins reefs into one graph; the last colony and the last reef take up the padding."""
    colonies, links = sum(len(f) for f, _, _ in reefs), sum(e.shape[1] for _, e, _ in reefs)
    if fault:
        room, link_room = round_up(colonies, 64), round_up(links, 512)
    else:
        room, link_room = MAX_COLONIES, MAX_LINKS
    features = np.zeros((room, COLONY), np.float32)
    reef_of = np.full(room, BATCH, np.int32)
    ends = np.full((2, link_room), room - 1, np.int32)
    at, link_at = 0, 0
    for i, (feature, edge, _) in enumerate(reefs):
        features[at : at + len(feature)] = feature
        reef_of[at : at + len(feature)] = i
        ends[:, link_at : link_at + edge.shape[1]] = edge + at
        at, link_at = at + len(feature), link_at + edge.shape[1]
    return features, ends, reef_of, np.array([label for _, _, label in reefs])


class Message(eqx.Module):
    edge: eqx.nn.MLP
    node: eqx.nn.MLP
    norm: eqx.nn.LayerNorm

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.edge = eqx.nn.MLP(2 * WIDTH, WIDTH, WIDTH, 1, activation=jax.nn.silu, key=first)
        self.node = eqx.nn.MLP(2 * WIDTH, WIDTH, WIDTH, 1, activation=jax.nn.silu, key=second)
        self.norm = eqx.nn.LayerNorm(WIDTH)

    def __call__(self, x, ends):
        source, target = ends
        messages = jax.vmap(self.edge)(jnp.concatenate([x[source], x[target]], axis=-1))
        inbox = jax.ops.segment_sum(messages, target, num_segments=x.shape[0])
        return jax.vmap(self.norm)(x + jax.vmap(self.node)(jnp.concatenate([x, inbox], axis=-1)))


class ReefNet(eqx.Module):
    embed: eqx.nn.Linear
    layers: list[Message]
    head: eqx.nn.MLP

    def __init__(self, key):
        keys = jax.random.split(key, LAYERS + 2)
        self.embed = eqx.nn.Linear(COLONY, WIDTH, key=keys[0])
        self.layers = [Message(k) for k in keys[2:]]
        self.head = eqx.nn.MLP(WIDTH, "scalar", 64, 1, key=keys[1])

    def __call__(self, features, ends, reef_of):
        x = jax.vmap(self.embed)(features)
        for layer in self.layers:
            x = layer(x, ends)
        total = jax.ops.segment_sum(x, reef_of, num_segments=BATCH + 1)[:BATCH]
        size = jax.ops.segment_sum(jnp.ones(len(reef_of)), reef_of, num_segments=BATCH + 1)[:BATCH]
        return jax.vmap(self.head)(total / size[:, None])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    optimizer = optax.adamw(1e-3)
    model = ReefNet(jax.random.key(4))
    opt_state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit(donate="all-except-first")
    def train_step(batch, model, opt_state):
        features, ends, reef_of, labels = batch

        def loss_fn(model):
            return optax.sigmoid_binary_cross_entropy(model(features, ends, reef_of), labels).mean()

        loss, grads = eqx.filter_value_and_grad(loss_fn)(model)
        updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), opt_state, loss

    reefs, rng = make_reefs(1200, seed=1), np.random.default_rng(28)
    for step in range(24):
        if step == 12:
            loss.block_until_ready()
            jax.profiler.start_trace(args.logdir)
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            chosen = rng.choice(len(reefs), BATCH, replace=False)
            batch = collate([reefs[i] for i in chosen], args.fault)
            model, opt_state, loss = train_step(batch, model, opt_state)
    loss.block_until_ready()
    jax.profiler.stop_trace()
    print(f"loss {float(loss):.3f}")


if __name__ == "__main__":
    main()
