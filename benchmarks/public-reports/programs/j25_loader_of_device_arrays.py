import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

IMAGE, TOKENS, VOCABULARY, BATCH = 256, 16, 200, 64
OPTIMIZER = optax.adamw(1e-3)


class CaptionedImages:
    """Rows of pixel values and of the tokens of their captions."""

    def __init__(self, size):
        rng = np.random.default_rng(0)
        self.pixel_values = rng.random((size, IMAGE), dtype="float32")
        self.labels = rng.integers(0, VOCABULARY, (size, TOKENS))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"pixel_values": self.pixel_values[index], "labels": self.labels[index]}


def data_loader(key, dataset, batch_size):
    order = jax.random.permutation(key, len(dataset))
    for start in range(0, len(dataset) - batch_size + 1, batch_size):
        rows = [dataset[index] for index in order[start : start + batch_size]]
        yield {name: jnp.stack([jnp.asarray(row[name]) for row in rows]) for name in rows[0]}


@jax.jit
def train_step(params, state, batch):
    def loss_fn(p):
        hidden = jax.nn.gelu(batch["pixel_values"] @ p["encoder"])
        logits = (hidden @ p["decoder"]).reshape(BATCH, TOKENS, VOCABULARY)
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"]).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, state = OPTIMIZER.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


def train(steps):
    rng = np.random.default_rng(1)
    params = {
        "encoder": jnp.asarray(rng.normal(size=(IMAGE, 64)) / 16, jnp.float32),
        "decoder": jnp.asarray(rng.normal(size=(64, TOKENS * VOCABULARY)) / 8, jnp.float32),
    }
    state = OPTIMIZER.init(params)
    dataset = CaptionedImages(6400)
    key, step = jax.random.PRNGKey(0), 0
    while step < steps:
        key, now = jax.random.split(key)
        for batch in data_loader(now, dataset, BATCH):
            params, state, loss = train_step(params, state, batch)
            step += 1
            if step % 50 == 0:
                print(step, float(loss))


train(int(os.environ.get("STEPS", 3200)))
