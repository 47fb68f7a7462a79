"""Two-tower wine recommender: a taster's last bottles against the next one, plain JAX and optax."""
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

WINES, NOTES = 8000, 1536
TASTERS, LENGTH = 6000, 10
DIM, HIDDEN = 64, 512
BATCH = 160
WARMUP, RECORDED = 8, 10


def cellar(seed=17):
    rng = np.random.default_rng(seed)
    notes = rng.standard_normal((WINES, NOTES)).astype(np.float32)  # embedded tasting notes
    style = rng.integers(0, WINES - 400, TASTERS)
    history = (style[:, None] + rng.integers(0, 400, (TASTERS, LENGTH + 1))).astype(np.int32)
    return notes, history


def init(key):
    k = iter(jax.random.split(key, 8))
    dense = lambda m, n: {"w": jax.random.normal(next(k), (m, n)) / np.sqrt(m), "b": jnp.zeros(n)}
    return {
        "table": 0.05 * jax.random.normal(next(k), (WINES, DIM)),
        "mix": [dense(DIM, HIDDEN), dense(HIDDEN, HIDDEN), dense(HIDDEN, DIM)],
        "notes": [dense(NOTES, HIDDEN), dense(HIDDEN, HIDDEN), dense(HIDDEN, DIM)],
        "decay": jnp.zeros(LENGTH),
    }


def mlp(layers, x):
    for layer in layers[:-1]:
        x = jax.nn.gelu(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def make_update(optimizer, embed):
    def loss_fn(params, notes, past, target):
        bottles = mlp(params["mix"], embed(params["table"], past))
        taster = jnp.einsum("bld,l->bd", bottles, jax.nn.softmax(params["decay"]))
        wine = mlp(params["notes"], notes[target]) + params["table"][target]
        logits = taster @ wine.T
        same = (target[:, None] == target[None, :]) & ~jnp.eye(len(target), dtype=bool)
        logits = jnp.where(same, -1e9, logits)
        return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(len(target))).mean()

    @jax.jit
    def update(params, opt_state, notes, rows):
        loss, grads = jax.value_and_grad(loss_fn)(params, notes, rows[:, :-1], rows[:, -1])
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return update


def lookup(table, ids):
    return table[ids]


def project(table, ids):
    return jax.nn.one_hot(ids, table.shape[0], dtype=table.dtype) @ table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    notes, history = cellar()
    if not args.fault:
        notes = jax.device_put(notes)
    params = init(jax.random.key(0))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    opt_state = optimizer.init(params)
    update = make_update(optimizer, project if args.fault else lookup)
    rng = np.random.default_rng(1)

    def batch():
        return history[rng.integers(0, TASTERS, BATCH)]

    for _ in range(WARMUP):
        params, opt_state, loss = update(params, opt_state, notes, batch())
    print("warm-up loss", float(loss))

    with jax.profiler.trace(args.logdir):
        for step in range(RECORDED):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                params, opt_state, loss = update(params, opt_state, notes, batch())
        loss.block_until_ready()
    print("loss", float(loss))


if __name__ == "__main__":
    main()
