"""Masked language model on commit messages: TextVectorization, two encoder blocks, tied output embedding."""

import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

VOCAB, LENGTH, WIDTH, HEADS = 6000, 64, 128, 4
MASKED = 10
BATCH = 24
WARMUP, RECORDED = 6, 10


def messages(count):
    rng = np.random.default_rng(3)
    parts = ["fix", "add", "re", "un", "de", "bug", "test", "log", "cfg", "api", "ui", "lock", "cache", "node", "path", "io"]
    words = np.array(["".join(rng.choice(parts, rng.integers(1, 5))) for _ in range(12_000)])
    return [" ".join(words[np.minimum(rng.zipf(1.15, rng.integers(45, 70)), 11_999)]) for _ in range(count)]


class Encoder(keras.Model):
    def __init__(self, blocks=2):
        super().__init__()
        self.token = layers.Embedding(VOCAB, WIDTH)
        self.position = layers.Embedding(LENGTH, WIDTH)
        self.norms = [layers.LayerNormalization() for _ in range(2 * blocks + 1)]
        self.attention = [layers.MultiHeadAttention(HEADS, WIDTH // HEADS) for _ in range(blocks)]
        self.wide = [layers.Dense(4 * WIDTH, activation="gelu") for _ in range(blocks)]
        self.narrow = [layers.Dense(WIDTH) for _ in range(blocks)]
        self.transform = layers.Dense(WIDTH, activation="gelu")

    def call(self, tokens):
        mask = tf.not_equal(tokens, 0)[:, None, :]
        x = self.token(tokens) + self.position(tf.range(LENGTH))[None]
        for i, attention in enumerate(self.attention):
            y = self.norms[2 * i](x)
            x = x + attention(y, y, attention_mask=mask)
            x = x + self.narrow[i](self.wide[i](self.norms[2 * i + 1](x)))
        return self.norms[-1](x)

    def predict_tokens(self, hidden):
        return tf.einsum("bsd,vd->bsv", self.transform(hidden), self.token.embeddings)


def mask_tokens(tokens):
    noise = tf.where(tokens > 1, tf.random.uniform(tf.shape(tokens)), -1.0)
    _, positions = tf.math.top_k(noise, MASKED)
    targets = tf.gather(tokens, positions, batch_dims=1)
    hit = tf.reduce_any(tf.equal(tf.range(LENGTH)[None, :, None], positions[:, None, :]), axis=-1)
    return tf.where(hit, tf.ones_like(tokens), tokens), positions, targets


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(8)

    texts = messages(1500)
    vectorize = layers.TextVectorization(max_tokens=VOCAB, output_sequence_length=LENGTH)
    vectorize.adapt(tf.data.Dataset.from_tensor_slices(texts).batch(250))
    dataset = (
        tf.data.Dataset.from_tensor_slices(texts)
        .shuffle(1500)
        .repeat()
        .batch(BATCH)
        .map(lambda t: mask_tokens(vectorize(t)), num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )
    model = Encoder()
    optimizer = keras.optimizers.Adam(2e-4)
    writer = tf.summary.create_file_writer(args.logdir)

    @tf.function
    def train_step(tokens, positions, targets):
        with tf.GradientTape() as tape:
            hidden = model(tokens)
            if args.fault:
                logits = tf.gather(model.predict_tokens(hidden), positions, batch_dims=1)
            else:
                logits = model.predict_tokens(tf.gather(hidden, positions, batch_dims=1))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    batches = iter(dataset)

    def run(step):
        loss = train_step(*next(batches))
        with writer.as_default(step=step):
            tf.summary.scalar("loss", loss)
            if args.fault or step % 500 == 0:
                for layer in (*model.wide, *model.narrow):
                    tf.summary.histogram(layer.path, layer.kernel)

    for step in range(WARMUP):
        run(step)
    with tf.profiler.experimental.Profile(args.logdir):
        for step in range(WARMUP, WARMUP + RECORDED):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                run(step)
    writer.close()


if __name__ == "__main__":
    main()
