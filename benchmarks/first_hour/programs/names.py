"""Which language is a surname of? A small network in JAX on its characters."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LENGTH, LANGUAGES, BATCH, STEPS = 40, 8, 512, 2000
rng = np.random.default_rng(0)


def made_names(count):
    names, languages = [], []
    for _ in range(count):
        language = int(rng.integers(LANGUAGES))
        letters = (rng.integers(0, 9, rng.integers(12, LENGTH)) + 2 * language) % 26
        names.append("".join(LETTERS[letter] for letter in letters))
        languages.append(language)
    return names, languages


def encode(name):
    row = np.zeros((LENGTH, len(LETTERS)), np.float32)
    for place, letter in enumerate(name):
        row[place, LETTERS.index(letter)] = 1
    return row


def batch_of(names, languages):
    chosen = rng.integers(0, len(names), BATCH)
    x = np.stack([encode(names[one]) for one in chosen])
    y = np.array([languages[one] for one in chosen])
    return x.reshape(BATCH, -1), y


def made_params():
    sizes = [LENGTH * len(LETTERS), 128, 128, 128, LANGUAGES]
    return [
        {
            "w": jnp.asarray(rng.normal(0, (2 / n) ** 0.5, (n, m)), jnp.float32),
            "b": jnp.zeros(m),
        }
        for n, m in zip(sizes, sizes[1:])
    ]


def logits_of(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_of(params, x, y):
    logits = logits_of(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def evaluate(params, x, y):
    accuracy = jax.jit(lambda p: (logits_of(p, x).argmax(-1) == y).mean())
    return float(accuracy(params))


def main():
    names, languages = made_names(20000)
    held_x, held_y = batch_of(*made_names(2000))
    params = made_params()
    optimizer = optax.adamw(1e-3)
    state = optimizer.init(params)
    gradients_of = jax.jit(jax.value_and_grad(loss_of))
    for step in range(STEPS):
        x, y = batch_of(names, languages)
        loss, gradients = gradients_of(params, x, y)
        updates, state = optimizer.update(gradients, state, params)
        params = optax.apply_updates(params, updates)
        if step % 20 == 0:
            accuracy = evaluate(params, held_x, held_y)
            print(f"step {step}: {float(loss):.3f}, {accuracy:.1%}", flush=True)


if __name__ == "__main__":
    main()
