"""Routes bug reports to teams; reports have very different lengths, so all token work runs on ragged values."""
import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras

VOCAB, WIDTH, TEAMS, BATCH = 6000, 160, 24, 48


def make_reports(count=1500, seed=11):
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(4.3, 0.6, count), 8, 400).astype(np.int64)
    teams = rng.integers(0, TEAMS, count).astype(np.int32)
    tokens = rng.zipf(1.3, int(lengths.sum())) % VOCAB
    tokens = (tokens + 37 * np.repeat(teams, lengths)) % VOCAB
    return tf.RaggedTensor.from_row_lengths(tokens.astype(np.int32), lengths), teams


class TokenBlock(keras.layers.Layer):
    """Mixes each token with its neighbours of the same report, then a gated feed-forward."""

    def __init__(self, width):
        super().__init__()
        self.norm = keras.layers.LayerNormalization()
        self.mix = keras.layers.Dense(width, use_bias=False)
        self.gate = keras.layers.Dense(2 * width, activation="silu")
        self.value = keras.layers.Dense(2 * width)
        self.out = keras.layers.Dense(width)

    def call(self, tokens, rows):
        x = self.norm(tokens)
        same_before = tf.cast(tf.equal(rows, tf.roll(rows, 1, 0)), x.dtype)[:, None]
        same_after = tf.cast(tf.equal(rows, tf.roll(rows, -1, 0)), x.dtype)[:, None]
        near = tf.concat([tf.roll(x, 1, 0) * same_before, x, tf.roll(x, -1, 0) * same_after], axis=-1)
        x = tokens + self.mix(near)
        return x + self.out(self.gate(x) * self.value(x))


class Router(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Embedding(VOCAB, WIDTH)
        self.blocks = [TokenBlock(WIDTH) for _ in range(3)]
        self.score = keras.layers.Dense(4)
        self.head = keras.Sequential([keras.layers.Dense(256, activation="relu"), keras.layers.Dense(TEAMS)])

    def call(self, reports, training=False):
        rows, count = reports.value_rowids(), reports.nrows()
        x = self.embed(reports.flat_values)
        for block in self.blocks:
            x = block(x, rows)
        scores = self.score(x)
        peak = tf.math.segment_max(scores, rows)
        weights = tf.exp(scores - tf.gather(tf.stop_gradient(peak), rows))
        total = tf.math.unsorted_segment_sum(weights, rows, count)
        heads = tf.reshape(x, (-1, 4, WIDTH // 4)) * weights[:, :, None]
        pooled = tf.math.unsorted_segment_sum(heads, rows, count) / (total[:, :, None] + 1e-9)
        return self.head(tf.reshape(pooled, (-1, WIDTH)))


def main(logdir):
    tf.random.set_seed(5)
    reports, teams = make_reports()
    dataset = (
        tf.data.Dataset.from_tensor_slices((reports, teams))
        .shuffle(1500, seed=2)
        .repeat()
        .ragged_batch(BATCH, drop_remainder=True)
        .prefetch(2)
    )
    model = Router()
    optimizer = keras.optimizers.Adam(1e-3, clipnorm=1.0)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    loss_mean, accuracy = keras.metrics.Mean(), keras.metrics.SparseCategoricalAccuracy()

    @tf.function(input_signature=[
        tf.RaggedTensorSpec([None, None], tf.int32, ragged_rank=1), tf.TensorSpec([None], tf.int32)])
    def train_step(batch, labels):
        with tf.GradientTape() as tape:
            logits = model(batch, training=True)
            loss = loss_fn(labels, logits)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        loss_mean.update_state(loss)
        accuracy.update_state(labels, logits)

    batches = iter(dataset)
    for _ in range(12):
        train_step(*next(batches))
    loss_mean.reset_state()
    accuracy.reset_state()

    tf.profiler.experimental.start(logdir)
    for step in range(12):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()
    print(f"loss {loss_mean.result():.3f} accuracy {accuracy.result():.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
