import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

VOCABULARY, WIDTH, RANK, ADAPTERS, LENGTH, MICRO_BATCH = 256, 48, 4, 4, 96, 32


def init(key):
    embed, base, head, down = jax.random.split(key, 4)
    model = {"embed": jax.random.normal(embed, (VOCABULARY, WIDTH))}
    model["base"] = jax.random.normal(base, (WIDTH, WIDTH)) / WIDTH**0.5
    model["head"] = jax.random.normal(head, (WIDTH, VOCABULARY)) / WIDTH**0.5
    narrow = jax.random.normal(down, (ADAPTERS, WIDTH, RANK)) / WIDTH**0.5
    return model, {"down": narrow, "up": jnp.zeros((ADAPTERS, RANK, VOCABULARY))}


def forward(model, lora, tokens, adapters):
    x = model["embed"][tokens]
    x = x + jnp.tanh(jnp.cumsum(x, axis=1) / jnp.arange(1, LENGTH + 1)[:, None] @ model["base"])
    low = jnp.einsum("blw,bwr->blr", x, lora["down"][adapters])
    return x @ model["head"] + jnp.einsum("blr,brv->blv", low, lora["up"][adapters])


def loss_fn(lora, model, tokens, targets, mask, adapters):
    logprobs = jax.nn.log_softmax(forward(model, lora, tokens, adapters))
    chosen = jnp.take_along_axis(logprobs, targets[..., None], axis=-1)[..., 0]
    losses = -chosen * mask
    return jnp.sum(losses.sum(1) / mask.sum(1)), (losses, chosen)


forward_backward = jax.jit(jax.value_and_grad(loss_fn, has_aux=True))


class Engine:
    def __init__(self):
        self.model, self.lora = init(jax.random.key(0))
        self.optimizer = optax.adam(1e-3)
        self.opt_state = self.optimizer.init(self.lora)
        self.update = jax.jit(self._update)

    def _update(self, lora, opt_state, grads, count):
        grads = jax.tree.map(lambda g: g / count, grads)
        updates, opt_state = self.optimizer.update(grads, opt_state)
        return optax.apply_updates(lora, updates), opt_state

    def process(self, requests):
        examples = [(adapter, sequence) for adapter, sequences in requests for sequence in sequences]
        lengths = [len(sequence) - 1 for _, sequence in examples]
        padded = np.zeros((len(examples), LENGTH + 1), np.int32)
        for row, (_, sequence) in zip(padded, examples):
            row[: len(sequence)] = sequence
        mask = (np.arange(LENGTH) < np.array(lengths)[:, None]).astype(np.float32)
        adapters = np.array([adapter for adapter, _ in examples])

        losses_out, logprobs_out = [None] * len(examples), [None] * len(examples)
        total = None
        for start in range(0, len(examples), MICRO_BATCH):
            rows = slice(start, start + MICRO_BATCH)
            (_, (losses, logprobs)), grads = forward_backward(
                self.lora, self.model, padded[rows, :-1], padded[rows, 1:], mask[rows], adapters[rows]
            )
            for i, example in enumerate(range(start, start + MICRO_BATCH)):
                losses_out[example] = losses[i, : lengths[example]].astype(jnp.float32)
                logprobs_out[example] = logprobs[i, : lengths[example]].astype(jnp.float32)
            total = grads if total is None else jax.tree.map(jnp.add, total, grads)
        self.lora, self.opt_state = self.update(self.lora, self.opt_state, total, len(examples))

        results, start = [], 0
        for adapter, sequences in requests:
            outputs = [
                {"losses": losses_out[k].tolist(), "logprobs": logprobs_out[k].tolist()}
                for k in range(start, start + len(sequences))
            ]
            start += len(sequences)
            results.append((adapter, outputs))
        return results


def make_requests(rng):
    requests = []
    for _ in range(8):
        adapter = int(rng.integers(ADAPTERS))
        starts = rng.integers(VOCABULARY, size=16)
        lengths = rng.integers(16, LENGTH + 1, size=16)
        requests.append((adapter, [(s + (adapter + 1) * np.arange(n + 1)) % VOCABULARY for s, n in zip(starts, lengths)]))
    return requests


def run(steps):
    rng = np.random.default_rng(0)
    engine = Engine()
    for step in range(steps):
        results = engine.process(make_requests(rng))
        if step % 20 == 0:
            mean = np.mean([np.mean(o["losses"]) for _, outputs in results for o in outputs])
            print(step, len(results), float(mean), flush=True)
    print(float(mean))


run(int(os.environ.get("STEPS", 140)))
