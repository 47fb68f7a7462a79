import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
SIZE, CLASSES = 48, 10


class Model:
    def __init__(self):
        rng = np.random.default_rng(0)
        self.layers = [tf.placeholder(tf.float32, (None, SIZE, SIZE, 3))]
        for filters, stride in ((16, 1), (24, 2), (32, 1), (32, 1), (48, 2), (48, 1), (64, 1), (64, 1)):
            self.convolve(rng, filters, stride)
        pooled = tf.reduce_mean(self.layers[-1], axis=(1, 2))
        self.layers.append(tf.matmul(pooled, tf.Variable(rng.normal(size=(64, CLASSES)).astype("float32"))))
        self.input, self.output = self.layers[0], self.layers[-1]

    def convolve(self, rng, filters, stride):
        x = self.layers[-1]
        kernel = rng.normal(size=(3, 3, int(x.shape[-1]), filters)) * (2.0 / (9 * int(x.shape[-1]))) ** 0.5
        x = tf.nn.conv2d(x, tf.Variable(kernel.astype("float32")), strides=stride, padding="SAME")
        self.layers.append(tf.nn.leaky_relu(x))


class ActivationMaximization:
    def __init__(self, layer_output, filter_indices):
        self.layer_output, self.filter_indices = layer_output, filter_indices

    def build_loss(self):
        return -tf.add_n([tf.reduce_mean(self.layer_output[:, idx]) for idx in self.filter_indices])


class Optimizer:
    def __init__(self, input_tensor, losses, wrt_tensor, norm_grads=True):
        self.input_tensor, self.wrt_tensor = input_tensor, wrt_tensor
        self.loss_functions = [loss.build_loss() * weight for loss, weight in losses]
        self.overall_loss = tf.add_n(self.loss_functions)
        grads = tf.gradients(self.overall_loss, wrt_tensor)[0]
        self.grads = grads / (tf.norm(grads) + 1e-7) if norm_grads else grads

    def minimize(self, session, seed_input):
        fetches = [self.loss_functions, self.overall_loss, self.grads, self.wrt_tensor]
        return session.run(fetches, {self.input_tensor: seed_input})


def visualize_cam(session, model, layer_idx, filter_indices, seed_input, penultimate_layer_idx):
    penultimate_output = model.layers[penultimate_layer_idx]
    losses = [(ActivationMaximization(model.layers[layer_idx], filter_indices), -1)]
    opt = Optimizer(model.input, losses, wrt_tensor=penultimate_output, norm_grads=False)
    _, _, grads, penultimate_value = opt.minimize(session, seed_input)
    weights = grads[0].mean(axis=(0, 1))
    heatmap = np.maximum(penultimate_value[0] @ weights, 0.0)
    heatmap = heatmap / (heatmap.max() + 1e-7)
    return np.kron(heatmap, np.ones((SIZE // len(heatmap),) * 2))


def generate_heatmaps(images):
    rng = np.random.default_rng(1)
    model = Model()
    coverage = np.zeros(CLASSES)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(images):
            original = (rng.normal(size=(1, 1, 1, 3)) + rng.normal(size=(1, SIZE, SIZE, 3))).astype("float32")
            classified = int(session.run(model.output, {model.input: original})[0].argmax())
            heatmap = visualize_cam(session, model, -1, [classified], original, penultimate_layer_idx=4)
            coverage[classified] += (heatmap > 0.5).mean()
            if i % 10 == 0:
                print(i, classified, heatmap.mean(), flush=True)
    print(coverage)


generate_heatmaps(int(os.environ.get("STEPS", 70)))
