"""Tells walkers by their gait, with jit_compile; walks are padded to the longest of a batch, or all to one length."""

import sys

import numpy as np
import tensorflow as tf

BATCH, AXES, WIDTH, WALKERS, LONGEST = 32, 6, 32, 10, 420
STEPS = 10


def main(logdir, faulty):
    filters = tf.Variable(tf.random.normal([AXES, WIDTH], stddev=0.3, seed=1))
    hidden = tf.Variable(tf.random.normal([WIDTH, WIDTH], stddev=0.2, seed=2))
    leave = tf.Variable(tf.random.normal([WIDTH, WALKERS], stddev=0.2, seed=3))
    variables = [filters, hidden, leave]

    signature = [
        tf.TensorSpec([BATCH, None, AXES], tf.float32),
        tf.TensorSpec([BATCH], tf.int32),
        tf.TensorSpec([BATCH], tf.int32),
    ]

    @tf.function(input_signature=signature, jit_compile=True)
    def train_step(walks, lengths, walkers):
        with tf.GradientTape() as tape:
            moments = tf.nn.tanh(tf.nn.tanh(walks @ filters) @ hidden)
            taken = tf.sequence_mask(lengths, tf.shape(walks)[1], tf.float32)[..., None]
            gait = tf.reduce_sum(moments * taken, axis=1) / tf.reduce_sum(taken, axis=1)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(walkers, gait @ leave))
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.05 * gradient)
        return loss

    random = np.random.default_rng(92)
    lengths = random.integers(40, LONGEST, BATCH * 24) * random.integers(3, 9, 24).repeat(BATCH) // 8
    walks = random.random((BATCH * 24, LONGEST, AXES), np.float32)
    walkers = random.integers(0, WALKERS, BATCH * 24, np.int32)
    dataset = tf.data.Dataset.from_tensor_slices((walks, lengths.astype("int32"), walkers))
    dataset = dataset.map(lambda walk, length, walker: (walk[:length], length, walker))
    padded = dataset.padded_batch(BATCH, ([None if faulty else LONGEST, AXES], [], []))
    batches = iter(padded.cache().repeat().prefetch(2))
    for step in range(4 + STEPS):
        if step == 4:
            tf.profiler.experimental.start(logdir)
        train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
