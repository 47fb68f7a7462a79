import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
SIZE, CLASSES, BATCH = 48, 20, 16


def load_birds(rng, count=640):
    parts = rng.normal(size=(CLASSES, 12, 12, 3))
    labels = rng.integers(CLASSES, size=count)
    images = np.kron(parts[labels], np.ones((1, 4, 4, 1))) + rng.normal(size=(count, SIZE, SIZE, 3))
    return images.astype("float32"), np.eye(CLASSES, dtype="float32")[labels]


class BilinearCNN:
    def __init__(self, imgs):
        self.rng, self.x = np.random.default_rng(1), imgs
        for filters, size, stride in ((32, 7, 1), (32, 3, 2), (48, 3, 2), (64, 3, 1)):
            self.convolve(filters, size, stride)
        self.bilinear_pool()
        self.probs = self.fc(CLASSES)

    def variable(self, *shape):
        scale = (2.0 / np.prod(shape[:-1])) ** 0.5
        return tf.Variable((scale * self.rng.normal(size=shape)).astype("float32"))

    def convolve(self, filters, size, stride):
        kernel = self.variable(size, size, int(self.x.shape[-1]), filters)
        self.x = tf.nn.relu(tf.nn.conv2d(self.x, kernel, strides=stride, padding="SAME"))

    def bilinear_pool(self):
        channels = int(self.x.shape[-1])
        self.x = tf.einsum("bijk,bijl->bkl", self.x, self.x) / 144.0
        self.x = tf.reshape(self.x, [-1, channels * channels])
        self.x = tf.nn.l2_normalize(tf.sign(self.x) * tf.sqrt(tf.abs(self.x) + 1e-12), axis=1)

    def fc(self, classes):
        return tf.matmul(self.x, self.variable(int(self.x.shape[-1]), classes))


def train(steps):
    imgs = tf.placeholder(tf.float32, [None, SIZE, SIZE, 3])
    target = tf.placeholder(tf.float32, [None, CLASSES])
    cnn = BilinearCNN(imgs)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=cnn.probs))
    check_op = tf.add_check_numerics_ops()
    optimizer = tf.train.MomentumOptimizer(0.02, 0.9).minimize(loss)
    correct = tf.equal(tf.argmax(cnn.probs, 1), tf.argmax(target, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))

    rng = np.random.default_rng(0)
    images, labels = load_birds(rng)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses, accuracies = [], []
        for step in range(steps):
            rows = rng.integers(len(images), size=BATCH)
            batch_xs, batch_ys = images[rows], labels[rows]
            sess.run([optimizer, check_op], feed_dict={imgs: batch_xs, target: batch_ys})
            cost = sess.run(loss, feed_dict={imgs: batch_xs, target: batch_ys})
            losses.append(cost)
            accuracies.append(sess.run(accuracy, feed_dict={imgs: batch_xs, target: batch_ys}))
            if (step + 1) % 50 == 0:
                print(f"step {step + 1}: loss {np.mean(losses):.4f}, accuracy {np.mean(accuracies):.3f}", flush=True)
                losses, accuracies = [], []


train(int(os.environ.get("STEPS", 200)))
