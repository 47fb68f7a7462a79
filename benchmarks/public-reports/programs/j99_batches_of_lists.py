import os
import random

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

VOCAB, MAX_LEN, BATCH, CLASSES = 5000, 128, 64, 8


class ReviewDataset:
    """Encoded reviews with a class each, padded and batched."""

    def __init__(self, size, seed=0):
        rng, self.reviews = random.Random(seed), []
        topics = [[rng.randrange(1, VOCAB) for _ in range(300)] for _ in range(CLASSES)]
        for _ in range(size):
            label = rng.randrange(CLASSES)
            words = [rng.choice(topics[label]) if rng.random() < 0.2 else rng.randrange(1, VOCAB) for _ in range(rng.randint(30, MAX_LEN))]
            self.reviews.append((words, label))
        self.rng = rng

    def pad(self, words):
        return words[:MAX_LEN] + [0] * (MAX_LEN - len(words))

    def batches(self):
        while True:
            self.rng.shuffle(self.reviews)
            for start in range(0, len(self.reviews) - BATCH + 1, BATCH):
                chosen = self.reviews[start : start + BATCH]
                yield {"input_ids": [self.pad(words) for words, _ in chosen], "label": [label for _, label in chosen]}


class ReviewClassifier(nn.Module):
    dim: int = 64

    @nn.compact
    def __call__(self, input_ids):
        mask = (input_ids > 0)[..., None]
        x = nn.Embed(VOCAB, self.dim)(input_ids)
        x = nn.relu(nn.Conv(self.dim, (3,))(x)) * mask
        x = x.sum(1) / mask.sum(1)
        return nn.Dense(CLASSES)(nn.relu(nn.Dense(self.dim)(x)))


@jax.jit
def train_step(state, input_ids, label):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, input_ids)
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, label).mean()
        return loss, (logits.argmax(-1) == label).mean()

    (loss, accuracy), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), loss, accuracy


def main(steps):
    model = ReviewClassifier()
    params = jax.jit(model.init)(jax.random.key(0), jnp.ones((1, MAX_LEN), int))["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(0.5, momentum=0.9))
    for step, batch in zip(range(steps), ReviewDataset(4000).batches()):
        input_ids = jnp.array(batch["input_ids"])
        label = jnp.array(batch["label"])
        state, loss, accuracy = train_step(state, input_ids, label)
        if step % 50 == 0:
            print(step, f"loss {float(loss):.3f} accuracy {float(accuracy):.2f}", flush=True)


main(int(os.environ.get("STEPS", 400)))
