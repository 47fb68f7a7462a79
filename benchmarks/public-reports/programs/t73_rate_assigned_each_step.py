import os
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
SIZE, BATCH, CLASSES = 48, 8, 4
RATE, GAMMA, STEPSIZE = 0.01, 0.1, 400


def get_minibatch(rng):
    """Pictures of one bright box each, with the box and the kind of its pattern."""
    images = rng.normal(0, 0.2, (BATCH, SIZE, SIZE, 1)).astype("float32")
    boxes, labels = np.zeros((BATCH, 4), "float32"), rng.integers(CLASSES, size=BATCH)
    for image, box, label in zip(images, boxes, labels):
        (y, x), (h, w) = rng.integers(0, SIZE // 2, 2), rng.integers(8, SIZE // 2, 2)
        image[y : y + h : 1 + label % 2, x : x + w : 1 + label // 2] += 1
        box[:] = np.array([y, x, y + h, x + w]) / SIZE
    return {"data": images, "boxes": boxes, "labels": labels}


def weights(name, shape):
    scale = np.sqrt(2 / np.prod(shape[:-1]))
    return tf.get_variable(name, shape, initializer=tf.random_normal_initializer(0, scale, seed=0))


class Network:
    def __init__(self):
        self.data = tf.placeholder(tf.float32, (BATCH, SIZE, SIZE, 1))
        self.boxes = tf.placeholder(tf.float32, (BATCH, 4))
        self.labels = tf.placeholder(tf.int32, (BATCH,))
        x, depth = self.data, 1
        for layer, channels in enumerate((8, 16, 32)):
            x = tf.nn.relu(tf.nn.conv2d(x, weights(f"conv{layer}", (3, 3, depth, channels)), 2, "SAME"))
            depth = channels
        x = tf.reshape(x, (BATCH, -1))
        x = tf.nn.relu(tf.matmul(x, weights("fc", (x.shape[1], 64))))
        self.cls_score = tf.matmul(x, weights("cls", (64, CLASSES)))
        self.bbox_pred = tf.matmul(x, weights("bbox", (64, 4)))


class SolverWrapper:
    def __init__(self, sess, net):
        self.sess, self.net = sess, net
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=net.labels, logits=net.cls_score)
        self.cross_entropy = tf.reduce_mean(entropy)
        self.loss_box = tf.reduce_mean(tf.abs(net.bbox_pred - net.boxes))
        self.lr = tf.Variable(RATE, trainable=False)
        optimizer = tf.train.MomentumOptimizer(self.lr, 0.9)
        self.train_op = optimizer.minimize(self.cross_entropy + self.loss_box)

    def train_model(self, max_iters):
        net, rng, began = self.net, np.random.default_rng(0), time.time()
        self.sess.run(tf.global_variables_initializer())
        for iteration in range(max_iters):
            if iteration >= STEPSIZE:
                self.sess.run(tf.assign(self.lr, RATE * GAMMA))
            else:
                self.sess.run(tf.assign(self.lr, RATE))
            blobs = get_minibatch(rng)
            feed_dict = {net.data: blobs["data"], net.boxes: blobs["boxes"], net.labels: blobs["labels"]}
            loss_cls, loss_box, _ = self.sess.run(
                [self.cross_entropy, self.loss_box, self.train_op], feed_dict=feed_dict
            )
            if iteration % 100 == 0:
                seconds = (time.time() - began) / (iteration + 1)
                print(f"iter {iteration}: loss_cls {loss_cls:.3f}, loss_box {loss_box:.3f}, {seconds:.4f} s / iter")


with tf.Session() as sess:
    SolverWrapper(sess, Network()).train_model(int(os.environ.get("STEPS", 600)))
