"""Fills the gaps that the sea cable left in old telegrams: a small masked language model.

    python tf_telegraph_clerks.py LOGDIR
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import argparse
import shutil
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

WORDS = 6000
LENGTH = 80
GAPS = 12              # gaps per telegram
WIDTH = 128
BATCH = 16


def write_telegrams(path, count=800):
    rng = np.random.default_rng(17)
    syllables = np.array(["ka", "ro", "mi", "sten", "lo", "ver", "tu", "bri", "an", "dol", "fe", "gar", "hu", "is"])
    lexicon = np.array(["".join(rng.choice(syllables, rng.integers(2, 6))) for _ in range(WORDS)])
    rank = 1.0 / np.arange(1, WORDS + 1) ** 0.8
    words = rng.choice(lexicon, (count, LENGTH), p=rank / rank.sum())
    path.write_text("\n".join(" ".join(line) + " stop" for line in words), encoding="utf-8")


def make_dataset(path):
    vectorize = layers.TextVectorization(WORDS, output_sequence_length=LENGTH, standardize="lower")
    lines = tf.data.TextLineDataset(str(path))
    vectorize.adapt(lines.batch(256))

    def punch(text):
        tokens = vectorize(text)
        where = tf.argsort(tf.random.uniform(tf.shape(tokens)), axis=1)[:, :GAPS]
        gaps = tf.reduce_max(tf.one_hot(where, LENGTH, dtype=tokens.dtype), axis=1)
        return tokens * (1 - gaps) + gaps, tokens, tf.sort(where, axis=1)

    return (lines.cache().shuffle(800).repeat()
            .batch(BATCH, drop_remainder=True)
            .map(punch, num_parallel_calls=tf.data.AUTOTUNE)
            .prefetch(tf.data.AUTOTUNE))


def make_encoder():
    tokens = keras.Input((LENGTH,), dtype="int64")
    x = layers.Embedding(WORDS, WIDTH)(tokens) + layers.Embedding(LENGTH, WIDTH)(keras.ops.arange(LENGTH))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, WIDTH // 4)(y, y)
        y = layers.Dense(4 * WIDTH, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(WIDTH)(y)
    return keras.Model(tokens, layers.LayerNormalization()(x))


def gap_loss(head, hidden, tokens, where):
    hidden = tf.gather(hidden, where, batch_dims=1)
    target = tf.gather(tokens, where, batch_dims=1)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(target, head(hidden)))


def weighted_loss(head, hidden, tokens, where):
    weight = tf.reduce_max(tf.one_hot(where, LENGTH), axis=1)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(tokens, head(hidden))
    return tf.reduce_sum(loss * weight) / tf.reduce_sum(weight)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(2)

    encoder = make_encoder()
    head = keras.Sequential([keras.Input((None, WIDTH)), layers.Dense(WIDTH, activation="gelu"), layers.Dense(WORDS)])
    variables = encoder.trainable_variables + head.trainable_variables
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, clipnorm=1.0)
    loss_of = weighted_loss if args.fault else gap_loss

    @tf.function(reduce_retracing=True)
    def train_step(masked, tokens, where):
        with tf.GradientTape() as tape:
            loss = loss_of(head, encoder(masked, training=True), tokens, where)
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    folder = Path(tempfile.mkdtemp(prefix="telegrams-"))
    try:
        write_telegrams(folder / "telegrams.txt")
        batches = iter(make_dataset(folder / "telegrams.txt"))
        for _ in range(8):
            loss = train_step(*next(batches))
        tf.profiler.experimental.start(args.logdir)
        for _ in range(11):
            loss = train_step(*next(batches))
        loss = float(loss)
        tf.profiler.experimental.stop()
        print(f"loss {loss:.3f}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
