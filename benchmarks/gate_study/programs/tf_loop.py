"""TensorFlow: a custom loop whose input is prepared while it runs."""

import inject
import numpy as np
import tensorflow as tf

weights = [tf.Variable(tf.ones((384, 384)) * 0.01), tf.Variable(tf.ones((384, 8)) * 0.01)]
tiny = tf.ones(4)


@tf.function
def train_step(x, y):
    if inject.KIND == "copy":
        x = tf.raw_ops.DeepCopy(x=x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.relu(x @ weights[0]) @ weights[1] - y) ** 2)
    for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        weight.assign_sub(0.01 * gradient)
    if inject.KIND == "op":
        loss += 1e-9 * tf.reduce_sum(tf.matmul(x, tf.tanh(tf.matmul(x, x, transpose_a=True))))
    return loss


@tf.function
def one_more(value):
    return value + 1


one_more(tiny).numpy()
features = np.random.rand(4096, 384).astype("float32")
labels = np.random.rand(4096, 8).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(1024).cache().repeat().prefetch(4)
batches = iter(dataset)


def train(steps):
    pace = inject.Pace()
    for number in range(steps):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            inject.load_data(pace.took)
            with pace:
                loss = train_step(*next(batches))
                if inject.KIND == "dispatch":
                    one_more(tiny).numpy()
                if inject.KIND == "recompile":
                    tf.function(lambda a, n=number: a + n)(tiny)
                if inject.KIND == "launches":
                    value = tiny
                    for _ in range(40):
                        value = value + 1
                loss.numpy()
            inject.log_extra(pace.took)


train(6)
tf.profiler.experimental.start(inject.LOGDIR)
train(inject.STEPS)
tf.profiler.experimental.stop()
