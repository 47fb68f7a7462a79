"""Suspicious payments on a temporal graph: every account carries a memory vector (after TGN)."""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

ACCOUNTS, WIDTH, NEIGHBOURS, EDGE, BATCH = 400_000, 64, 6, 16, 1024


def dense(key, fan_in, fan_out):
    return {"w": jax.random.normal(key, (fan_in, fan_out)) / np.sqrt(fan_in), "b": jnp.zeros(fan_out)}


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


def init(key):
    k = iter(jax.random.split(key, 8))
    return {
        "query": dense(next(k), WIDTH, 128),
        "key": dense(next(k), WIDTH, 128),
        "value": dense(next(k), WIDTH, 128),
        "merge": dense(next(k), WIDTH + 128, WIDTH),
        "gates": dense(next(k), 3 * WIDTH + EDGE, 2 * WIDTH),
        "fresh": dense(next(k), 3 * WIDTH + EDGE, WIDTH),
        "hidden": dense(next(k), 2 * WIDTH + EDGE, 384),
        "score": dense(next(k), 384, 1),
    }


def embed(params, memory, account, neighbours):
    own = memory[account]
    around = memory[neighbours]
    q = apply(params["query"], own).reshape(-1, 1, 4, 32)
    k = apply(params["key"], around).reshape(-1, NEIGHBOURS, 4, 32)
    v = apply(params["value"], around).reshape(-1, NEIGHBOURS, 4, 32)
    attended = jax.nn.dot_product_attention(q, k, v).reshape(-1, 128)
    return own, jax.nn.relu(apply(params["merge"], jnp.concatenate([own, attended], -1)))


def renew(params, old, one, other, edge):
    x = jnp.concatenate([old, one, other, edge], -1)
    reset, keep = jnp.split(jax.nn.sigmoid(apply(params["gates"], x)), 2, -1)
    fresh = jnp.tanh(apply(params["fresh"], jnp.concatenate([reset * old, one, other, edge], -1)))
    return keep * old + (1 - keep) * fresh


def loss_fn(params, memory, batch):
    payer, one = embed(params, memory, batch["payer"], batch["payer_neighbours"])
    payee, other = embed(params, memory, batch["payee"], batch["payee_neighbours"])
    new_payer = renew(params, payer, one, other, batch["edge"])
    new_payee = renew(params, payee, other, one, batch["edge"])
    x = jnp.concatenate([new_payer, new_payee, batch["edge"]], -1)
    logit = apply(params["score"], jax.nn.relu(apply(params["hidden"], x)))[:, 0]
    loss = optax.sigmoid_binary_cross_entropy(logit, batch["suspicious"]).mean()
    return loss, (new_payer, new_payee)


def make_step(optimizer, **jit_options):
    def train_step(params, opt_state, memory, batch):
        (loss, (payer, payee)), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, memory, batch)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        accounts = jnp.concatenate([batch["payer"], batch["payee"]])
        memory = memory.at[accounts].set(jax.lax.stop_gradient(jnp.concatenate([payer, payee])))
        return params, opt_state, memory, loss

    return jax.jit(train_step, **jit_options)


def payments(rng):
    adjacency = rng.integers(0, ACCOUNTS, (ACCOUNTS, NEIGHBOURS), np.int32)
    while True:
        payer = (rng.random(BATCH) ** 2 * ACCOUNTS).astype(np.int32)
        payee = rng.integers(0, ACCOUNTS, BATCH, np.int32)
        yield {
            "payer": payer,
            "payee": payee,
            "payer_neighbours": adjacency[payer],
            "payee_neighbours": adjacency[payee],
            "edge": rng.standard_normal((BATCH, EDGE), np.float32),
            "suspicious": (rng.random(BATCH) < 0.03).astype(np.float32),
        }
        adjacency[payer, rng.integers(0, NEIGHBOURS)] = payee


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    params = init(jax.random.key(3))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(5e-4))
    opt_state = optimizer.init(params)
    memory = jnp.zeros((ACCOUNTS, WIDTH))
    stream = payments(np.random.default_rng(3))
    if args.fault:
        train_step = make_step(optimizer)
    else:
        train_step = make_step(optimizer, donate_argnums=(0, 1, 2))

    for _ in range(8):
        params, opt_state, memory, loss = train_step(params, opt_state, memory, next(stream))
    loss.block_until_ready()
    with jax.profiler.trace(args.logdir):
        for step in range(11):
            with jax.profiler.StepTraceAnnotation("step", step_num=step):
                params, opt_state, memory, loss = train_step(params, opt_state, memory, next(stream))
                loss.block_until_ready()


if __name__ == "__main__":
    main()
