"""Trains a model of letters with attention; the norms of all weights may be written to a file after each step."""

import json
import sys
import tempfile
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

BATCH, LENGTH, WIDTH, HEADS, LETTERS = 8, 64, 96, 4, 64
STEPS = 14


def attention(layer, x):
    q, k, v = (jnp.einsum("bld,dhk->blhk", x, layer[name]) for name in "qkv")
    scores = jnp.einsum("blhk,bmhk->bhlm", q, k) / np.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    return jnp.einsum("bhlm,bmhk,hkd->bld", jax.nn.softmax(scores), v, layer["o"])


def loss_fn(params, letters):
    x = params["table"][letters]
    for layer in params["layers"]:
        x = x + attention(layer, x)
        x = x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]
    logits = jax.nn.log_softmax(x[:, :-1] @ params["table"].T)
    return -jnp.mean(jnp.take_along_axis(logits, letters[:, 1:, None], axis=2))


@partial(jax.jit, donate_argnums=0)
def train_step(params, letters):
    loss, gradients = jax.value_and_grad(loss_fn)(params, letters)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


def initial(random):
    def normal(*shape):
        return jnp.asarray(random.normal(0, 0.05, shape), jnp.float32)

    part = WIDTH // HEADS
    layers = [
        {
            **{name: normal(WIDTH, HEADS, part) for name in "qkv"},
            "o": normal(HEADS, part, WIDTH),
            "up": normal(WIDTH, 4 * WIDTH),
            "down": normal(4 * WIDTH, WIDTH),
        }
        for _ in range(3)
    ]
    return {"table": normal(LETTERS, WIDTH), "layers": layers}


def write_norms(file, number, params, loss):
    line = {"step": number, "loss": float(loss)}
    for path, weights in jax.tree_util.tree_leaves_with_path(params):
        values = np.asarray(weights)
        counts, _ = np.histogram(values, 40)
        shape = np.percentile(values, [1, 50, 99]).tolist()
        line[jax.tree_util.keystr(path)] = [float(np.linalg.norm(values)), *shape, *counts.tolist()]
    file.write(json.dumps(line) + "\n")
    file.flush()


def main(logdir, faulty):
    random = np.random.default_rng(5)
    params = initial(random)
    text = random.integers(0, LETTERS, (8, BATCH, LENGTH))

    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "norms.jsonl").open("w") as file:

        def train(params, steps):
            for number in range(steps):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    params, loss = train_step(params, text[number % 8])
                    if faulty:
                        write_norms(file, number, params, loss)
            jax.block_until_ready(params)
            return params

        params = train(params, 4)
        with jax.profiler.trace(logdir):
            train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
