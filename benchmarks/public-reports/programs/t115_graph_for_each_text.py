import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
VOCAB, LENGTH, DIM, LAYERS, CLASSES = 2000, 64, 96, 4, 3
WORDS = "the film was a dull slow grand moving story of love war and old friends".split()


def norm(x, name):
    with tf.variable_scope(name):
        gain = tf.get_variable("g", [DIM], initializer=tf.ones_initializer())
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return gain * (x - mean) * tf.rsqrt(variance + 1e-5)


def dense(x, size, name):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [int(x.shape[-1]), size], initializer=tf.random_normal_initializer(0, 0.05, seed=1))
    return tf.einsum("...i,ij->...j", x, w)


def block(x, name):
    with tf.variable_scope(name):
        q, k, v = tf.split(dense(x, 3 * DIM, "c_attn"), 3, axis=-1)
        attention = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / DIM**0.5)
        x = norm(x + dense(tf.matmul(attention, v), DIM, "c_proj"), "ln_1")
        return norm(x + dense(tf.nn.relu(dense(x, 4 * DIM, "c_fc")), DIM, "c_mlp"), "ln_2")


def model_fn(tokens):
    table = tf.get_variable("we", [VOCAB, DIM], initializer=tf.random_normal_initializer(0, 0.05, seed=2))
    x = tf.nn.embedding_lookup(table, tokens)
    for layer in range(LAYERS):
        x = block(x, f"h{layer}")
    return tf.nn.softmax(dense(tf.reduce_mean(x, 1), CLASSES, "clf"))


class Classifier:
    def __init__(self, folder):
        self.checkpoint = os.path.join(folder, "model.ckpt")
        with tf.Graph().as_default(), tf.Session() as sess:
            model_fn(tf.placeholder(tf.int32, [None, LENGTH]))
            sess.run(tf.global_variables_initializer())
            tf.train.Saver().save(sess, self.checkpoint)

    def _estimate(self, input_fn):
        with tf.Graph().as_default():
            predictions = model_fn(tf.data.make_one_shot_iterator(input_fn()).get_next())
            with tf.Session() as sess:
                tf.train.Saver().restore(sess, self.checkpoint)
                while True:
                    try:
                        yield from sess.run(predictions)
                    except tf.errors.OutOfRangeError:
                        return

    def encode(self, text):
        ids = [sum(ord(char) * 31**i for i, char in enumerate(word)) % VOCAB for word in text.split()]
        return np.array((ids + [0] * LENGTH)[:LENGTH], "int32")

    def predict_proba(self, texts):
        encoded = np.stack([self.encode(text) for text in texts])
        return np.stack(list(self._estimate(lambda: tf.data.Dataset.from_tensor_slices(encoded).batch(8))))


def serve(requests):
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        model, counts = Classifier(folder), np.zeros(CLASSES, int)
        for request in range(requests):
            text = " ".join(rng.choice(WORDS, size=rng.integers(5, 40)))
            counts[model.predict_proba([text])[0].argmax()] += 1
            if request % 20 == 0:
                print(f"{request + 1} texts: {counts}", flush=True)


serve(int(os.environ.get("STEPS", 60)))
