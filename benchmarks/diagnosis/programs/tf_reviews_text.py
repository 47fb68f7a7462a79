"""Classifies reviews by the words in them: words are hashed, embedded and averaged."""

import re
import sys
import zlib

import numpy as np
import tensorflow as tf

BATCH = 96
WORDS = 96
STEPS = 20
BUCKETS = 5000


def words_by_python(reviews):
    rows = []
    for review in reviews.numpy():
        words = []
        for word in re.split(rb"[ .,!?]+", review.lower())[:WORDS]:
            stem = re.sub(rb"(ing|ed|s)$", b"", word)
            words.append(zlib.crc32(stem) % BUCKETS)
        rows.append(words + [0] * (WORDS - len(words)))
    return np.array(rows, np.int64)


def words_by_tensorflow(reviews):
    reviews = tf.strings.regex_replace(tf.strings.lower(reviews), "[.,!?]+", " ")
    words = tf.strings.split(reviews).to_tensor("", shape=[None, WORDS])
    words = tf.strings.regex_replace(words, "(ing|ed|s)$", "")
    return tf.strings.to_hash_bucket_fast(words, BUCKETS)


def main(logdir, faulty):
    random = np.random.default_rng(2)
    table = tf.Variable(random.normal(0, 0.1, (BUCKETS, 64)).astype("float32"))
    hidden = tf.Variable(random.normal(0, 0.1, (64, 128)).astype("float32"))
    output = tf.Variable(random.normal(0, 0.1, (128, 2)).astype("float32"))
    variables = [table, hidden, output]

    @tf.function
    def train_step(words, stars):
        with tf.GradientTape() as tape:
            vectors = tf.nn.relu(tf.gather(table, words) @ hidden)
            logits = tf.reduce_mean(vectors, axis=1) @ output
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(stars, logits))
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * tf.convert_to_tensor(gradient))
        return loss

    vocabulary = np.array([f"word{number}ing" for number in range(3000)])
    reviews = [" ".join(random.choice(vocabulary, WORDS)) + "!" for _ in range(BATCH * 12)]
    stars = random.integers(0, 2, len(reviews))

    def prepare(reviews, stars):
        if faulty:
            words = tf.py_function(words_by_python, [reviews], tf.int64)
            words.set_shape([None, WORDS])
        else:
            words = words_by_tensorflow(reviews)
        return words, stars

    dataset = tf.data.Dataset.from_tensor_slices((reviews, stars)).batch(BATCH, drop_remainder=True).repeat()
    dataset = dataset.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    batches = iter(dataset)

    for _ in range(8):
        train_step(*next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
