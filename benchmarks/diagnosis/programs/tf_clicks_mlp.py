"""Predicts clicks with a wide and deep network: hour, price and campaign become features in the input pipeline."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 512
STEPS = 20


def features_of(hour, price, campaign):
    """Works on one example as on a batch of them."""
    angle = tf.cast(hour, tf.float32) * (2 * np.pi / 24)
    price = tf.math.log1p(price)
    dense = tf.stack([tf.sin(angle), tf.cos(angle), price, price * price, tf.sqrt(price)], axis=-1)
    crossed = tf.math.floormod(campaign * 24 + tf.cast(hour, tf.int64), 1000)
    return dense, crossed


def main(logdir, faulty):
    random = np.random.default_rng(1)
    deep = [tf.Variable(random.normal(0, 0.1, shape).astype("float32")) for shape in ((37, 512), (512, 512), (512, 1))]
    table = tf.Variable(random.normal(0, 0.1, (1000, 32)).astype("float32"))
    variables = [*deep, table]

    @tf.function
    def train_step(dense, crossed, clicked):
        with tf.GradientTape() as tape:
            hidden = tf.concat([dense, tf.gather(table, crossed)], axis=1)
            for weights in deep[:-1]:
                hidden = tf.nn.relu(hidden @ weights)
            logits = (hidden @ deep[-1])[:, 0]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(clicked, logits))
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.05 * tf.convert_to_tensor(gradient))
        return loss

    examples = BATCH * 30
    columns = {
        "hour": random.integers(0, 24, examples),
        "price": random.random(examples, np.float32) * 100,
        "campaign": random.integers(0, 500, examples),
        "clicked": random.integers(0, 2, examples).astype("float32"),
    }

    def prepare(row):
        return *features_of(row["hour"], row["price"], row["campaign"]), row["clicked"]

    dataset = tf.data.Dataset.from_tensor_slices(columns).repeat()
    if faulty:
        dataset = dataset.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH)
    else:
        dataset = dataset.batch(BATCH).map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    batches = iter(dataset.prefetch(tf.data.AUTOTUNE))

    for _ in range(10):
        train_step(*next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("click", step_num=number, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
