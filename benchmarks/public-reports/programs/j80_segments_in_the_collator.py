import os

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

VOCABULARY, SENTINELS, LENGTH, BATCH, WIDTH, DENSITY, MEAN_SPAN = 400, 32, 128, 32, 32, 0.15, 3.0


class T5(nn.Module):
    @nn.compact
    def __call__(self, inputs, decoder_inputs):
        embed = nn.Embed(VOCABULARY, WIDTH)
        x, y = embed(inputs), embed(decoder_inputs)
        x = x + nn.SelfAttention(4)(nn.RMSNorm()(x))
        x = x + nn.Dense(WIDTH)(nn.relu(nn.Dense(2 * WIDTH)(x)))
        y = y + nn.SelfAttention(4)(nn.RMSNorm()(y), mask=nn.make_causal_mask(decoder_inputs))
        y = y + nn.MultiHeadDotProductAttention(4)(nn.RMSNorm()(y), x)
        y = y + nn.Dense(WIDTH)(nn.relu(nn.Dense(2 * WIDTH)(y)))
        return embed.attend(nn.RMSNorm()(y))


class CollatorForT5MLM:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, examples):
        masks = [self.random_spans_noise_mask(len(tokens)) for tokens in examples]
        inputs = np.stack([self.with_sentinels(tokens, mask) for tokens, mask in zip(examples, masks)])
        labels = np.stack([self.with_sentinels(tokens, ~mask) for tokens, mask in zip(examples, masks)])
        return {"inputs": inputs, "labels": labels, "decoder_inputs": np.pad(labels, ((0, 0), (1, 0)))[:, :-1]}

    def with_sentinels(self, tokens, mask):
        starts = mask & ~np.concatenate([[False], mask[:-1]])
        return np.where(starts, VOCABULARY - np.cumsum(starts), tokens)[~mask | starts].astype(np.int32)

    def random_segmentation(self, num_items, num_segments):
        first_in_segment = np.arange(num_items - 1) < num_segments - 1
        self.rng.shuffle(first_in_segment)
        segment_id = np.cumsum(np.pad(first_in_segment, (1, 0)).astype(np.int32))
        return np.asarray(jax.ops.segment_sum(np.ones_like(segment_id), segment_id))

    def random_spans_noise_mask(self, length):
        num_noise = round(length * DENSITY)
        num_spans = round(num_noise / MEAN_SPAN)
        noise = self.random_segmentation(num_noise, num_spans)
        kept = self.random_segmentation(length - num_noise, num_spans)
        lengths = np.stack([kept, noise], axis=1).reshape(-1)
        return np.repeat(np.arange(2 * num_spans) % 2 == 1, lengths)


def main(steps):
    rng = np.random.default_rng(0)
    strides = rng.integers(1, 9, size=(4096, 1))
    texts = (rng.integers(500, size=(4096, 1)) + strides * np.arange(LENGTH)) % (VOCABULARY - SENTINELS)
    collate, model, tx = CollatorForT5MLM(rng), T5(), optax.adafactor(3e-3)
    params = jax.jit(model.init)(jax.random.key(0), texts[:1], texts[:1])
    opt_state = tx.init(params)

    @jax.jit
    def train_step(params, opt_state, batch):
        def loss_fn(params):
            logits = model.apply(params, batch["inputs"], batch["decoder_inputs"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"]).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    for step in range(steps):
        batch = collate(texts[rng.integers(len(texts), size=BATCH)])
        params, opt_state, loss = train_step(params, opt_state, batch)
        if step % 10 == 0:
            print(step, float(loss), flush=True)


main(int(os.environ.get("STEPS", 150)))
