"""Sentiment of product reviews: TextVectorization, embeddings, convolutions, a loop of its own.

The slow form does two things differently: it vectorizes review by review in Python, and hands the step number to the
train step as a Python int.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

BATCH_SIZE = 192
MAX_TOKENS = 6000
SEQ_LEN = 60
WARMUP_STEPS = 200
STEPS = 10


def fake_reviews(n=1024, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array(["".join(rng.choice(list("abcdefghijklmnoprstuvw"), rng.integers(2, 10))) for _ in range(5000)])
    reviews = [" ".join(rng.choice(words, rng.integers(20, 80))) + "!" for _ in range(n)]
    return np.array(reviews), rng.integers(0, 2, n).astype("float32")


def make_dataset(texts, labels, vectorize, one_by_one):
    ds = tf.data.Dataset.from_tensor_slices((texts, labels)).shuffle(1024, seed=2).repeat()
    if one_by_one:

        def encode(text, label):
            tokens = tf.py_function(lambda t: vectorize(t[None])[0], [text], tf.int64)
            tokens.set_shape([SEQ_LEN])
            return tokens, label

        return ds.map(encode).batch(BATCH_SIZE, drop_remainder=True)
    ds = ds.batch(BATCH_SIZE, drop_remainder=True)
    return ds.map(lambda t, y: (vectorize(t), y), num_parallel_calls=2).prefetch(tf.data.AUTOTUNE)


def build_model():
    return keras.Sequential(
        [
            keras.Input((SEQ_LEN,), dtype="int64"),
            keras.layers.Embedding(MAX_TOKENS, 64),
            keras.layers.Conv1D(128, 5, activation="relu"),
            keras.layers.Conv1D(128, 5, activation="relu"),
            keras.layers.GlobalMaxPooling1D(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )


def main(logdir, faulty):
    keras.utils.set_random_seed(1)
    texts, labels = fake_reviews()
    vectorize = keras.layers.TextVectorization(max_tokens=MAX_TOKENS, output_sequence_length=SEQ_LEN)
    vectorize.adapt(texts)
    model = build_model()
    loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)
    velocity = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]

    @tf.function
    def train_step(x, y, step):
        lr = 0.05 * tf.minimum(1.0, (tf.cast(step, tf.float32) + 1.0) / WARMUP_STEPS)
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_fn(y[:, None], logits)
        grads = tape.gradient(loss, model.trainable_variables)
        for v, m, g in zip(model.trainable_variables, velocity, grads):
            m.assign(0.9 * m + tf.convert_to_tensor(g))
            v.assign_sub(lr * m)
        return loss

    it = iter(make_dataset(texts, labels, vectorize, one_by_one=faulty))
    step = 0

    def run(n):
        nonlocal step
        for _ in range(n):
            x, y = next(it)
            loss = train_step(x, y, step if faulty else tf.constant(step))
            step += 1
        return loss

    run(4)
    with tf.profiler.experimental.Profile(logdir):
        run(STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
