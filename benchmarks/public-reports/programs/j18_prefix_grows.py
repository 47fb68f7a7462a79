import os

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, VOCABULARY = 64, 1000


@jax.jit
def next_token(params, tokens):
    """Runs the whole prefix through the decoder and chooses the next token."""
    x = params["embedding"][tokens]
    for layer in params["layers"]:
        query, key, value = (x @ layer[name] for name in ("q", "k", "v"))
        scores = query @ key.T / 8.0
        seen = jnp.tril(jnp.ones((len(tokens), len(tokens)), bool))
        x = x + jax.nn.softmax(jnp.where(seen, scores, -1e9)) @ value
        x = x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]
    return jnp.argmax(x[-1] @ params["embedding"].T)


def decoder(rng):
    def matrix(rows, columns):
        return jnp.asarray(rng.normal(size=(rows, columns)) / np.sqrt(rows), jnp.float32)

    layers = [
        {"q": matrix(WIDTH, WIDTH), "k": matrix(WIDTH, WIDTH), "v": matrix(WIDTH, WIDTH),
         "up": matrix(WIDTH, 256), "down": matrix(256, WIDTH)}
        for _ in range(4)
    ]
    return {"embedding": matrix(VOCABULARY, WIDTH), "layers": layers}


def generate(params, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        token = next_token(params, jnp.asarray(np.array(tokens)))
        tokens.append(int(token))
    return tokens


text = generate(decoder(np.random.default_rng(0)), [1, 2, 3], int(os.environ.get("STEPS", 400)))
print(text[-5:])
