"""Self-critical training of a headline writer for court dockets (REINFORCE with a greedy baseline)."""
import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("logdir")
parser.add_argument("--fault", action="store_true")
args = parser.parse_args()

VOCAB, SOURCE, TARGET, DIM, UNITS = 1200, 90, 14, 112, 160
BATCH, BOS = 32, 1

rng = np.random.default_rng(11)
tf.random.set_seed(11)


def synthetic_dockets(count):
    """Token ids of a filing's summary, and of the headline that a clerk gave it."""
    topics = rng.zipf(1.3, size=(24, 400)) % (VOCAB - 10) + 10
    topic = rng.integers(0, 24, count)
    source = topics[topic[:, None], rng.integers(0, 400, (count, SOURCE))]
    headline = topics[topic[:, None], rng.integers(0, 40, (count, TARGET))]
    return source.astype("int32"), headline.astype("int32")


class HeadlineWriter(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = tf.keras.layers.Embedding(VOCAB, DIM)
        self.conv = [tf.keras.layers.Conv1D(DIM, 3, padding="same", activation="gelu") for _ in range(3)]
        self.norms = [tf.keras.layers.LayerNormalization() for _ in range(3)]
        self.bridge = tf.keras.layers.Dense(UNITS, activation="tanh")
        self.cell = tf.keras.layers.GRUCell(UNITS)
        self.query = tf.keras.layers.Dense(DIM)
        self.mix = tf.keras.layers.Dense(UNITS, activation="tanh")
        self.head = tf.keras.layers.Dense(VOCAB)

    def encode(self, source):
        x = self.embed(source)
        for conv, norm in zip(self.conv, self.norms):
            x = norm(x + conv(x))
        return x, self.bridge(tf.reduce_mean(x, axis=1))

    def step(self, token, state, memory):
        state, _ = self.cell(self.embed(token), [state])
        weights = tf.nn.softmax(tf.einsum("bd,btd->bt", self.query(state), memory) / DIM**0.5)
        context = tf.einsum("bt,btd->bd", weights, memory)
        return self.head(self.mix(tf.concat([state, context], -1))), state

    def call(self, source, headline):
        memory, state = self.encode(source)
        token, logits = tf.fill([tf.shape(source)[0]], BOS), []
        for t in range(TARGET):
            out, state = self.step(token, state, memory)
            logits.append(out)
            token = headline[:, t]
        return tf.stack(logits, 1)


model = HeadlineWriter()
optimizer = tf.keras.optimizers.Adam(3e-4)


def overlap(candidate, reference):
    """Unigram recall, a cheap stand-in for ROUGE-1."""
    hit = tf.reduce_any(candidate[:, :, None] == reference[:, None, :], axis=1)
    return tf.reduce_mean(tf.cast(hit, tf.float32), axis=1)


def decode(source, greedy):
    memory, state = model.encode(source)
    token = tf.fill([tf.shape(source)[0]], BOS)
    tokens = []
    for _ in range(TARGET):
        logits, state = model.step(token, state, memory)
        if greedy:
            token = tf.argmax(logits, -1, output_type=tf.int32)
        else:
            token = tf.random.categorical(logits, 1, dtype=tf.int32)[:, 0]
        tokens.append(token)
    return tf.stack(tokens, 1)


def baseline_reward(source, reference):
    return overlap(decode(source, greedy=True), reference)


if not args.fault:
    baseline_reward = tf.function(baseline_reward)


@tf.function
def train_step(source, reference, baseline):
    sampled = decode(source, greedy=False)
    advantage = overlap(sampled, reference) - baseline
    with tf.GradientTape() as tape:
        logits = model(source, sampled)
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=sampled, logits=logits)
        loss = tf.reduce_mean(advantage * tf.reduce_sum(nll, axis=1))
    grads = tape.gradient(loss, model.trainable_variables)
    grads, _ = tf.clip_by_global_norm(grads, 5.0)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss, tf.reduce_mean(advantage)


source, headline = synthetic_dockets(6000)
dataset = (
    tf.data.Dataset.from_tensor_slices((source, headline))
    .shuffle(6000, seed=1)
    .repeat()
    .batch(BATCH, drop_remainder=True)
    .prefetch(2)
)

model(source[:BATCH], headline[:BATCH])
optimizer.build(model.trainable_variables)

batches = iter(dataset)
for step in range(19):
    if step == 8:
        tf.profiler.experimental.start(args.logdir)
    with tf.profiler.experimental.Trace("scst", step_num=step, _r=1):
        text, reference = next(batches)
        baseline = baseline_reward(text, reference)
        loss, advantage = train_step(text, reference, baseline)
    if step == 17:
        loss.numpy()
        tf.profiler.experimental.stop()
print(f"loss {float(loss):.4f}, advantage {float(advantage):+.4f}")
