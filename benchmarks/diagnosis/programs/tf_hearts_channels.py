"""Finds arrhythmias in recordings of hearts; a network ported from PyTorch keeps its channels first, or last."""

import sys

import numpy as np
import tensorflow as tf

BATCH, LEADS, LENGTH, WIDTH, BLOCKS = 32, 12, 800, 16, 6
STEPS = 10


def channels_swapped(signal):
    return tf.transpose(signal, [0, 2, 1])


class Block(tf.Module):
    """Convolution, ReLU and a linear layer, with what came in added."""

    def __init__(self, first):
        super().__init__()
        self.first = first
        self.kernel = tf.Variable(tf.random.normal([3, WIDTH, WIDTH], stddev=0.15, seed=1))
        self.linear = tf.Variable(tf.random.normal([WIDTH, WIDTH], stddev=0.15, seed=2))

    def convolved(self, signal):
        if self.first:
            return channels_swapped(tf.nn.conv1d(channels_swapped(signal), self.kernel, 1, "SAME"))
        return tf.nn.conv1d(signal, self.kernel, 1, "SAME")

    def mixed(self, signal):
        if self.first:
            return channels_swapped(tf.tensordot(channels_swapped(signal), self.linear, 1))
        return tf.tensordot(signal, self.linear, 1)

    def __call__(self, signal):
        return signal + self.mixed(tf.nn.relu(self.convolved(signal)))


def main(logdir, faulty):
    blocks = [Block(faulty) for _ in range(BLOCKS)]
    enter = tf.Variable(tf.random.normal([LEADS, WIDTH], stddev=0.2, seed=3))
    leave = tf.Variable(tf.random.normal([WIDTH, 4], stddev=0.2, seed=4))
    variables = [enter, leave, *(variable for block in blocks for variable in block.trainable_variables)]

    @tf.function
    def train_step(recordings, rhythm):
        with tf.GradientTape() as tape:
            signal = tf.einsum("blt,lw->bwt" if faulty else "btl,lw->btw", recordings, enter)
            for block in blocks:
                signal = block(signal)
            logits = tf.reduce_mean(signal, axis=2 if faulty else 1) @ leave
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(rhythm, logits))
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(1e-3 * gradient)
        return loss

    random = np.random.default_rng(78)
    shape = (BATCH * 6, LEADS, LENGTH) if faulty else (BATCH * 6, LENGTH, LEADS)
    recordings, rhythm = random.random(shape, np.float32), random.integers(0, 4, BATCH * 6)
    dataset = tf.data.Dataset.from_tensor_slices((recordings, rhythm)).batch(BATCH).cache().repeat().prefetch(2)
    batches = iter(dataset)
    for step in range(5 + STEPS):
        if step == 5:
            tf.profiler.experimental.start(logdir)
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
