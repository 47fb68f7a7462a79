"""Trains an autoencoder that takes noise out of signals; rows are shuffled and put together to batches."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 2048
LENGTH = 768
STEPS = 15


def main(logdir, faulty):
    tf.config.threading.set_intra_op_parallelism_threads(1)
    random = np.random.default_rng(11)
    encode = tf.Variable(random.normal(0, 0.05, (LENGTH, 48)).astype("float32"))
    decode = tf.Variable(random.normal(0, 0.05, (48, LENGTH)).astype("float32"))

    @tf.function(jit_compile=True)
    def train_step(signals):
        with tf.GradientTape() as tape:
            restored = tf.nn.softplus((signals + 0.1) @ encode) @ decode
            loss = tf.reduce_mean((restored - signals) ** 2)
        of_encode, of_decode = tape.gradient(loss, [encode, decode])
        encode.assign_sub(0.1 * of_encode)
        decode.assign_sub(0.1 * of_decode)
        return loss

    signals = random.random((8192, LENGTH), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(signals).shuffle(512).repeat().batch(BATCH)
    if not faulty:
        dataset = dataset.prefetch(2)
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    batches = iter(dataset.with_options(options))

    for _ in range(5):
        train_step(next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
