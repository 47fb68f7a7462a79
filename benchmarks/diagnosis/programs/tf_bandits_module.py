"""Learns offers for customers with a tf.Module and a hand-written Adam; learn() has a tf.function decorator, or lacks it."""

import itertools
import sys

import numpy as np
import tensorflow as tf

BATCH = 128
STEPS = 12


class Policy(tf.Module):
    """Scores offers and holds its own moments."""

    def __init__(self, sizes):
        super().__init__()
        start = tf.random.Generator.from_seed(3)
        self.weights = [
            tf.Variable(start.normal([one, two], stddev=one**-0.5)) for one, two in itertools.pairwise(sizes)
        ]
        self.biases = [tf.Variable(tf.zeros([two])) for two in sizes[1:]]
        self.parameters = self.weights + self.biases
        self.first = [tf.Variable(tf.zeros_like(one)) for one in self.parameters]
        self.second = [tf.Variable(tf.zeros_like(one)) for one in self.parameters]

    def scores(self, customers):
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            customers = tf.nn.swish(customers @ weight + bias)
        return customers @ self.weights[-1] + self.biases[-1]

    def learn(self, customers, offers, reward):
        with tf.GradientTape() as tape:
            chances = tf.nn.log_softmax(self.scores(customers))
            chosen = tf.reduce_sum(chances * tf.one_hot(offers, 12), axis=1)
            spread = -tf.reduce_sum(tf.exp(chances) * chances, axis=1)
            loss = -tf.reduce_mean(chosen * reward + 0.01 * spread)
        for variable, gradient, first, second in zip(
            self.parameters, tape.gradient(loss, self.parameters), self.first, self.second, strict=True
        ):
            first.assign(0.9 * first + 0.1 * gradient)
            second.assign(0.999 * second + 0.001 * gradient**2)
            variable.assign_sub(1e-3 * first / (tf.sqrt(second) + 1e-8))
        return loss


def main(logdir, faulty):
    policy = Policy([64, 192, 192, 192, 12])
    learn = policy.learn if faulty else tf.function(policy.learn)
    random = np.random.default_rng(48)
    customers, reward = random.random((BATCH * 8, 64), np.float32), random.random(BATCH * 8, np.float32)
    offers = random.integers(0, 12, BATCH * 8)
    dataset = tf.data.Dataset.from_tensor_slices((customers, offers, reward)).batch(BATCH).cache().repeat().prefetch(4)
    batches = iter(dataset)
    for _ in range(5):
        learn(*next(batches))
    with tf.profiler.experimental.Profile(logdir):
        for _ in range(STEPS):
            learn(*next(batches))


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
