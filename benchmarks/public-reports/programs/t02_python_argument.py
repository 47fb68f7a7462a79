import os

import numpy as np
import tensorflow as tf

W1 = tf.Variable(tf.random.normal((32, 64), stddev=0.1))
W2 = tf.Variable(tf.random.normal((64, 1), stddev=0.1))
WRITER = tf.summary.create_file_writer(os.path.join(os.environ.get("TMPDIR", "/tmp"), "summaries"))


@tf.function
def train_step(x, y, step, temperature):
    with tf.GradientTape() as tape:
        h = tf.tanh(x @ W1 / temperature)
        loss = tf.reduce_mean((h @ W2 - y) ** 2)
    for weight, gradient in zip((W1, W2), tape.gradient(loss, (W1, W2))):
        weight.assign_sub(0.01 * gradient)
    with WRITER.as_default():
        tf.summary.scalar("loss", loss, step=step)
    return loss


def train(steps):
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(128, 32)), tf.float32)
    y = tf.reduce_sum(x, axis=1, keepdims=True)
    for step in range(steps):
        loss = train_step(x, y, step, 1.0)
        if step % 50 == 0:
            print(step, float(loss))


train(int(os.environ.get("STEPS", 2500)))
