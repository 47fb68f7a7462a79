"""Next song for a radio: a large table of songs, an average of the last ones, sampled softmax (custom loop)."""

import sys

import numpy as np
import tensorflow as tf

STEPS = 10
SONGS = 60_000
DIM = 64
HISTORY = 12
BATCH = 512
LEARNING_RATE = 0.05
L2 = 1e-6


class Radio(tf.Module):
    def __init__(self):
        super().__init__(name="radio")
        rng = tf.random.Generator.from_seed(1)
        self.songs = tf.Variable(rng.uniform([SONGS, DIM], -0.05, 0.05), name="songs")
        self.hidden = tf.Variable(rng.normal([DIM, 768], stddev=0.1), name="hidden")
        self.project = tf.Variable(rng.normal([768, DIM], stddev=0.03), name="project")

    def taste(self, history):
        average = tf.reduce_mean(tf.nn.embedding_lookup(self.songs, history), axis=1)
        return tf.nn.gelu(average @ self.hidden) @ self.project


def batches(seed):
    rng = np.random.default_rng(seed)
    history = (rng.pareto(1.2, (BATCH * 8, HISTORY)) * 500).astype(np.int64) % SONGS
    following = (rng.pareto(1.2, BATCH * 8) * 500).astype(np.int64) % SONGS
    data = tf.data.Dataset.from_tensor_slices((history, following))
    return data.batch(BATCH, drop_remainder=True).cache().repeat().prefetch(4)


def main(logdir, faulty):
    model = Radio()

    @tf.function
    def train(history, following):
        with tf.GradientTape() as tape:
            taste = model.taste(history)
            answers = tf.nn.embedding_lookup(model.songs, following)
            logits = tf.matmul(taste, answers, transpose_b=True)  # the other rows of the batch are the wrong answers
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(BATCH), logits))
            if faulty:
                loss += L2 * tf.nn.l2_loss(model.songs)
            else:
                loss += L2 * tf.nn.l2_loss(answers)
            loss += L2 * (tf.nn.l2_loss(model.hidden) + tf.nn.l2_loss(model.project))
        variables = [model.songs, model.hidden, model.project]
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            if isinstance(gradient, tf.IndexedSlices):
                step = tf.IndexedSlices(LEARNING_RATE * gradient.values, gradient.indices)
                variable.scatter_sub(step)
            else:
                variable.assign_sub(LEARNING_RATE * gradient)
        return loss

    iterator = iter(batches(3))
    for _ in range(5):
        train(*next(iterator))
    with tf.profiler.experimental.Profile(logdir):
        for _ in range(STEPS):
            loss = train(*next(iterator))
    print(f"loss {loss:.4f}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
