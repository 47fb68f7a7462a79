import os
import time

import keras
import numpy as np
import tensorflow as tf

VOCAB, SIZE, BATCH, LENGTH, SAMPLED = 60000, 128, 20, 20, 256


def ptb_producer(rng):
    words = (rng.zipf(1.3, BATCH * 4001) % VOCAB).astype("int32")
    words[1::2] = (words[0::2] * 7 + 3)[: len(words[1::2])] % VOCAB
    data = words.reshape(BATCH, -1)
    while True:
        for i in range(0, data.shape[1] - LENGTH - 1, LENGTH):
            yield data[:, i : i + LENGTH], data[:, i + 1 : i + LENGTH + 1]


class PTBModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = keras.layers.Embedding(VOCAB, SIZE)
        self.lstm = keras.layers.LSTM(SIZE, return_sequences=True)
        self.softmax_w = self.add_weight(shape=(SIZE, VOCAB), initializer="glorot_uniform", name="softmax_w")
        self.softmax_b = self.add_weight(shape=(VOCAB,), initializer="zeros", name="softmax_b")

    def call(self, words):
        return tf.reshape(self.lstm(self.embedding(words)), (-1, SIZE))

    def cost(self, words, targets):
        output = self(words)
        softmax_w_t = tf.transpose(self.softmax_w)
        labels = tf.reshape(targets, (-1, 1))
        losses = tf.nn.sampled_softmax_loss(softmax_w_t, self.softmax_b.value, labels, output, SAMPLED, VOCAB)
        return tf.reduce_mean(losses)


def main(steps):
    keras.utils.set_random_seed(0)
    model, optimizer = PTBModel(), keras.optimizers.SGD(1.0)

    @tf.function
    def train_step(words, targets):
        with tf.GradientTape() as tape:
            cost = model.cost(words, targets)
        grads = tape.gradient(cost, model.trainable_variables)
        grads, _ = tf.clip_by_global_norm(grads, 5.0)
        optimizer.apply(grads, model.trainable_variables)
        return cost

    data, costs, start = ptb_producer(np.random.default_rng(0)), [], time.time()
    for step in range(1, steps + 1):
        words, targets = next(data)
        costs.append(float(train_step(tf.constant(words), tf.constant(targets))))
        if step % 20 == 0:
            speed = step * BATCH * LENGTH / (time.time() - start)
            print(f"step {step}, cost {np.mean(costs[-20:]):.3f}, {speed:.0f} words per second", flush=True)


main(int(os.environ.get("STEPS", 200)))
