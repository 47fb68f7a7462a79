import os

import keras
import numpy as np
import tensorflow as tf

COLUMNS, BATCH, MICROBATCHES, CLIP, NOISE = 40, 256, 256, 1.0, 1.1

keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.layers.Input((COLUMNS,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(2),
    ]
)
optimizer = keras.optimizers.SGD(0.5)
generator = tf.random.Generator.from_seed(0)


def clip(gradients):
    norm = tf.sqrt(tf.add_n([tf.reduce_sum(gradient**2) for gradient in gradients]))
    scale = tf.minimum(1.0, CLIP / norm)
    return [gradient * scale for gradient in gradients]


def loss_and_gradients(rows, labels):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(rows, training=True))
        loss = tf.reduce_mean(losses)
    return loss, clip(tape.gradient(loss, model.trainable_variables))


@tf.function
def train_step(rows, labels):
    rows = tf.reshape(rows, [MICROBATCHES, -1, COLUMNS])
    labels = tf.reshape(labels, [MICROBATCHES, -1])
    total = tf.constant(0.0)
    sums = [tf.zeros(variable.shape) for variable in model.trainable_variables]
    for i in tf.range(MICROBATCHES):
        loss, gradients = loss_and_gradients(rows[i], labels[i])
        total += loss
        sums = [before + gradient for before, gradient in zip(sums, gradients)]
    noisy = [(s + generator.normal(s.shape, stddev=NOISE * CLIP)) / MICROBATCHES for s in sums]
    optimizer.apply(noisy, model.trainable_variables)
    return total / MICROBATCHES


def main(steps):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60 * BATCH, COLUMNS)).astype("float32")
    labels = (rows @ rng.normal(size=(COLUMNS, 2))).argmax(1).astype("int32")
    dataset = tf.data.Dataset.from_tensor_slices((rows, labels)).batch(BATCH).repeat().prefetch(2)
    for step, (row_batch, label_batch) in zip(range(steps), dataset):
        loss = train_step(row_batch, label_batch)
        if step % 200 == 0:
            print(step, float(loss))


main(int(os.environ.get("STEPS", 2500)))
