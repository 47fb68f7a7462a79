import os
import tempfile
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
VOCAB, SIZE, BATCH, LENGTH = 120, 48, 50, 25


class TextLoader:
    """Text in which each character is followed by one of a few others."""

    def __init__(self, rng, characters=40000):
        followers = rng.integers(VOCAB, size=(VOCAB, 4))
        text = [0]
        for choice in rng.integers(4, size=characters):
            text.append(followers[text[-1], choice])
        self.num_batches = characters // (BATCH * LENGTH)
        used = np.array(text[: self.num_batches * BATCH * LENGTH + 1])
        self.x = np.split(used[:-1].reshape(BATCH, -1), self.num_batches, 1)
        self.y = np.split(used[1:].reshape(BATCH, -1), self.num_batches, 1)


class Model:
    def __init__(self):
        self.input_data = tf.placeholder(tf.int32, [BATCH, LENGTH])
        self.targets = tf.placeholder(tf.int32, [BATCH, LENGTH])
        self.initial_state = tf.placeholder(tf.float32, [2, BATCH, SIZE])
        with tf.variable_scope("rnnlm", initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=1)):
            softmax_w = tf.get_variable("softmax_w", [SIZE, VOCAB])
            softmax_b = tf.get_variable("softmax_b", [VOCAB])
            embedding = tf.get_variable("embedding", [VOCAB, SIZE])
            kernel = tf.get_variable("kernel", [2 * SIZE, 4 * SIZE])
            bias = tf.get_variable("bias", [4 * SIZE])
        inputs = tf.unstack(tf.nn.embedding_lookup(embedding, self.input_data), axis=1)
        c, h = tf.unstack(self.initial_state)
        outputs = []
        for x in inputs:
            i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), kernel) + bias, 4, 1)
            c = c * tf.sigmoid(f + 1) + tf.sigmoid(i) * tf.tanh(j)
            h = tf.tanh(c) * tf.sigmoid(o)
            outputs.append(h)
        self.final_state = tf.stack([c, h])
        output = tf.reshape(tf.stack(outputs, 1), [-1, SIZE])
        self.logits = tf.matmul(output, softmax_w) + softmax_b
        labels = tf.reshape(self.targets, [-1])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=self.logits)
        self.cost = tf.reduce_mean(loss)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), 5.0)
        self.train_op = tf.train.AdamOptimizer(0.002).apply_gradients(zip(grads, tvars))
        tf.summary.histogram("logits", self.logits)
        tf.summary.histogram("loss", loss)
        tf.summary.scalar("train_loss", self.cost)


def train(steps):
    loader, model = TextLoader(np.random.default_rng(0)), Model()
    with tf.Session() as sess:
        summaries = tf.summary.merge_all()
        writer = tf.summary.FileWriter(tempfile.mkdtemp())
        writer.add_graph(sess.graph)
        sess.run(tf.global_variables_initializer())
        state, began = np.zeros((2, BATCH, SIZE)), time.time()
        for step in range(steps):
            b = step % loader.num_batches
            feed = {model.input_data: loader.x[b], model.targets: loader.y[b], model.initial_state: state}
            summ, loss, state, _ = sess.run([summaries, model.cost, model.final_state, model.train_op], feed)
            writer.add_summary(summ, step)
            if step % 50 == 0:
                each = (time.time() - began) / (step + 1)
                print(f"{step}, train_loss = {loss:.3f}, time/batch = {each:.4f}", flush=True)


train(int(os.environ.get("STEPS", 1000)))
