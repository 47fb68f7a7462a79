"""Averages models of 24 keyboards in each round; each keyboard learns in a call of its own, or all in one."""

import sys

import numpy as np
import tensorflow as tf

CLIENTS, WORDS, WIDTH = 24, 64, 96
LOCAL = 3
STEPS = 14


def local(shared, contexts, answers):
    """The weights of one keyboard after some descents of its own."""
    one, two = shared
    for _ in range(LOCAL):
        with tf.GradientTape() as tape:
            tape.watch([one, two])
            guess = tf.nn.tanh(contexts @ one) @ two
            loss = tf.reduce_sum(tf.reduce_mean((guess - answers) ** 2, axis=[-2, -1]))
        of_one, of_two = tape.gradient(loss, [one, two])
        one, two = one - 0.1 * of_one, two - 0.1 * of_two
    return one, two


def main(logdir, faulty):
    random = np.random.default_rng(76)
    shapes = ((WIDTH, WIDTH), (WIDTH, 16))
    shared = [tf.Variable(random.normal(0, 0.1, shape).astype("float32")) for shape in shapes]
    clients = list(tf.range(CLIENTS))

    @tf.function
    def learn(now, contexts, answers, client):
        return local(now, contexts[client], answers[client])

    @tf.function
    def average(learnt):
        for weight, copies in zip(shared, learnt, strict=True):
            weight.assign(tf.reduce_mean(tf.stack(copies), axis=0))

    @tf.function
    def whole_round(contexts, answers):
        copies = [tf.tile(weight[None], [CLIENTS, 1, 1]) for weight in shared]
        for weight, learnt in zip(shared, local(copies, contexts, answers), strict=True):
            weight.assign(tf.reduce_mean(learnt, axis=0))

    def round_by_calls(contexts, answers):
        now = [weight.read_value() for weight in shared]
        learnt = [learn(now, contexts, answers, client) for client in clients]
        average([list(copies) for copies in zip(*learnt, strict=True)])

    contexts = random.random((8, CLIENTS, WORDS, WIDTH), np.float32)
    answers = random.random((8, CLIENTS, WORDS, 16), np.float32)
    rounds = iter(tf.data.Dataset.from_tensor_slices((contexts, answers)).repeat().prefetch(2))
    run_round = round_by_calls if faulty else whole_round
    for _ in range(5):
        run_round(*next(rounds))
    tf.profiler.experimental.start(logdir)
    for _ in range(STEPS):
        run_round(*next(rounds))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
