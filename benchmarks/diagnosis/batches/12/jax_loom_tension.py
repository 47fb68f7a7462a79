"""Warp breaks on a rapier loom, seen ahead in the yarn tension: gated recurrence in an equinox module."""

import argparse
import queue
import threading

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

PICKS, SENSORS = 128, 16
WIDTH = 96
BATCH = 48
WARM_UP, RECORDED = 7, 10


def shifts(count=1200, seed=27):
    rng = np.random.default_rng(seed)
    tension = rng.standard_normal((count, PICKS, SENSORS), dtype=np.float32).cumsum(axis=1) * 0.05
    breaks = (rng.random(count) < 0.3).astype(np.float32)
    ramp = np.linspace(0, 1, PICKS, dtype=np.float32) ** 3
    tension[..., 3] += breaks[:, None] * ramp
    return tension, breaks


def batches(tension, breaks, stop):
    """Draws and uploads the next batches in a thread of its own."""
    ready = queue.Queue(maxsize=3)

    def work():
        rng = np.random.default_rng(5)
        while not stop.is_set():
            rows = rng.integers(0, len(breaks), BATCH)
            batch = jax.device_put((tension[rows], breaks[rows]))
            while not stop.is_set():
                try:
                    ready.put(batch, timeout=0.1)
                    break
                except queue.Full:
                    continue

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return ready, thread


class Recurrence(eqx.Module):
    cell: eqx.nn.GRUCell
    mix: eqx.nn.Linear

    def __init__(self, size, key):
        a, b = jax.random.split(key)
        self.cell = eqx.nn.GRUCell(size, WIDTH, key=a)
        self.mix = eqx.nn.Linear(WIDTH, WIDTH, key=b)

    def __call__(self, xs):
        def tick(h, x):
            h = self.cell(x, h)
            return h, h

        _, hs = jax.lax.scan(tick, jnp.zeros(WIDTH), xs, unroll=4)
        return hs + jax.nn.gelu(jax.vmap(self.mix)(hs))


class Watcher(eqx.Module):
    layers: list[Recurrence]
    head: eqx.nn.MLP

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.layers = [Recurrence(SENSORS, keys[0]), Recurrence(WIDTH, keys[1])]
        self.head = eqx.nn.MLP(2 * WIDTH, "scalar", 64, 1, key=keys[2])

    def __call__(self, xs):
        for layer in self.layers:
            xs = layer(xs)
        return self.head(jnp.concatenate([xs[-1], xs.max(0)]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    model = Watcher(jax.random.key(11))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0, 1e-3, 50, 5000)))
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_value_and_grad
    def loss_fn(model, tension, breaks):
        return optax.sigmoid_binary_cross_entropy(jax.vmap(model)(tension), breaks).mean()

    @eqx.filter_jit(donate="all-except-first")
    def train_step(batch, model, state):
        loss, grads = loss_fn(model, *batch)
        updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, loss

    stop = threading.Event()
    ready, thread = batches(*shifts(), stop)
    for _ in range(WARM_UP):
        model, state, loss = train_step(ready.get(), model, state)
    jax.block_until_ready(loss)

    losses = []
    jax.profiler.start_trace(args.logdir)
    for _ in range(RECORDED):
        model, state, loss = train_step(ready.get(), model, state)
        losses.append(loss)
    jax.block_until_ready(loss)
    jax.profiler.stop_trace()
    print("mean loss", float(jnp.stack(losses).mean()))
    stop.set()
    thread.join()


if __name__ == "__main__":
    main()
