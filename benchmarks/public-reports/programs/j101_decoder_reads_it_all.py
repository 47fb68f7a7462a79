import os

import jax
import jax.numpy as jnp
import numpy as np

VOCAB, DIM, HEADS, LAYERS, ENC_LEN, MAX_LEN, BOS, EOS = 512, 128, 4, 4, 128, 64, 1, 2


def init_params(key):
    keys = iter(jax.random.split(key, 200))
    dense = lambda i, o: jax.random.normal(next(keys), (i, o)) / np.sqrt(i)
    attention = lambda: {name: dense(DIM, DIM) for name in ("q", "k", "v", "out")}
    mlp = lambda: {"up": dense(DIM, 4 * DIM), "down": dense(4 * DIM, DIM)}
    return {
        "embed": jax.random.normal(next(keys), (VOCAB, DIM)),
        "positions": 0.5 * jax.random.normal(next(keys), (ENC_LEN, DIM)),
        "encoder": [{"self": attention(), "mlp": mlp()} for _ in range(LAYERS)],
        "decoder": [{"self": attention(), "cross": attention(), "mlp": mlp()} for _ in range(LAYERS)],
    }


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6)


def attend(q, k, v, mask):
    q, k, v = (x.reshape(len(x), HEADS, DIM // HEADS) for x in (q, k, v))
    scores = jnp.einsum("qhd,khd->hqk", q, k) / np.sqrt(DIM // HEADS)
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
    return jnp.einsum("hqk,khd->qhd", weights, v).reshape(len(q), DIM)


def multi_head(p, x, context, mask):
    return attend(x @ p["q"], context @ p["k"], context @ p["v"], mask) @ p["out"]


def feed_forward(p, x):
    return jax.nn.gelu(x @ p["up"]) @ p["down"]


@jax.jit
def encode(params, tokens, mask):
    x = params["embed"][tokens] + params["positions"]
    for layer in params["encoder"]:
        x = x + multi_head(layer["self"], norm(x), norm(x), mask)
        x = x + feed_forward(layer["mlp"], norm(x))
    return norm(x)


@jax.jit
def decode(params, tokens, encoded, mask):
    x = params["embed"][tokens] + params["positions"][: len(tokens)]
    causal = jnp.tril(jnp.ones((len(tokens), len(tokens)), bool))
    for layer in params["decoder"]:
        x = x + multi_head(layer["self"], norm(x), norm(x), causal)
        x = x + multi_head(layer["cross"], norm(x), encoded, mask)
        x = x + feed_forward(layer["mlp"], norm(x))
    return norm(x) @ params["embed"].T


def generate(params, query):
    tokens, mask = np.zeros(ENC_LEN, np.int32), np.arange(ENC_LEN) < len(query)
    tokens[: len(query)] = query
    encoded, output = encode(params, tokens, mask), np.zeros(MAX_LEN, np.int32)
    output[0] = BOS
    for t in range(MAX_LEN - 1):
        logits = decode(params, output, encoded, mask)
        output[t + 1] = int(logits[t].argmax())
        if output[t + 1] == EOS:
            break
    return output[1 : t + 2]


params, rng, produced = init_params(jax.random.key(0)), np.random.default_rng(0), 0
for n in range(int(os.environ.get("STEPS", 50))):
    call = generate(params, rng.integers(3, VOCAB, rng.integers(20, ENC_LEN)))
    produced += len(call)
    if n % 10 == 0:
        print(n, "queries", produced, "tokens, last call", *call[:8], flush=True)
