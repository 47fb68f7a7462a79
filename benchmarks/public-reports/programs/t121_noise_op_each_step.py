import os
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
PATCH, BATCH, SIGMA = 20, 8, 25


def load_patches(rng, count=1024):
    y, x = np.mgrid[0:PATCH, 0:PATCH] / PATCH
    angle, freq, shift = rng.uniform(0, np.pi, count), rng.uniform(1, 6, count), rng.uniform(0, 6, count)
    wave = np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y
    wave = 0.5 + 0.4 * np.sin(wave * freq[:, None, None] * 6 + shift[:, None, None])
    return wave[..., None].astype("float32")


def add_noise(data, sigma, sess):
    noise = sigma / 255.0 * sess.run(tf.truncated_normal(data.shape))
    return data + noise


def psnr(a, b):
    return 10 * np.log10(1.0 / np.mean((a - np.clip(b, 0, 1)) ** 2))


class Denoiser:
    def __init__(self, sess):
        self.sess = sess
        self.clean = tf.placeholder(tf.float32, [None, PATCH, PATCH, 1], name="clean_image")
        self.noisy = tf.placeholder(tf.float32, [None, PATCH, PATCH, 1], name="noisy_image")
        self.lr = tf.placeholder(tf.float32, name="learning_rate")
        self.output = self.noisy - self.residual(self.noisy)
        self.loss = tf.nn.l2_loss(self.output - self.clean) / BATCH
        self.train_op = tf.train.AdamOptimizer(self.lr).minimize(self.loss)
        sess.run(tf.global_variables_initializer())

    def residual(self, x, layers=5, channels=12):
        rng = np.random.default_rng(1)
        for layer in range(layers):
            shape = (3, 3, int(x.shape[-1]), 1 if layer == layers - 1 else channels)
            scale = (2.0 / np.prod(shape[:3])) ** 0.5
            kernel = tf.Variable((scale * rng.normal(size=shape)).astype("float32"))
            x = tf.nn.conv2d(x, kernel, strides=1, padding="SAME") + tf.Variable(tf.zeros(shape[-1:]))
            x = x if layer == layers - 1 else tf.nn.relu(x)
        return x

    def evaluate(self, images, noisy):
        denoised = self.sess.run(self.output, feed_dict={self.noisy: noisy})
        return psnr(images, denoised)

    def train(self, data, test, iterations, lr=1e-3):
        rng, start = np.random.default_rng(2), time.time()
        test_noisy = test + SIGMA / 255.0 * rng.normal(size=test.shape)
        for iteration in range(1, iterations + 1):
            batch = data[rng.integers(len(data), size=BATCH)]
            noisy = add_noise(batch, SIGMA, self.sess)
            _, loss = self.sess.run(
                [self.train_op, self.loss], feed_dict={self.clean: batch, self.noisy: noisy, self.lr: lr}
            )
            if iteration % 100 == 0:
                score = self.evaluate(test, test_noisy)
                print(f"[{iteration:5d}] {time.time() - start:6.1f} s, loss {loss:.4f}, PSNR {score:.2f}", flush=True)


def main():
    tf.set_random_seed(0)
    patches = load_patches(np.random.default_rng(0))
    with tf.Session() as sess:
        model = Denoiser(sess)
        model.train(patches[64:], patches[:64], int(os.environ.get("STEPS", 400)))


main()
