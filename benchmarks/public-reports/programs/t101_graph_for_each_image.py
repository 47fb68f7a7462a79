import os
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
STYLES = 4


def init_weights(rng):
    """Weights of a transformer network, as a trainer would export them."""
    weights, depth = {}, 3
    sizes = [("encode_0", 9, 8), ("encode_1", 3, 16), ("encode_2", 3, 24)]
    sizes += [(f"residual_{block}_{conv}", 3, 24) for block in range(4) for conv in range(2)]
    sizes += [("decode_0", 3, 16), ("decode_1", 3, 8), ("decode_2", 9, 3)]
    for name, kernel, channels in sizes:
        scale = np.sqrt(1 / (kernel * kernel * depth))
        weights[name + "/weight"] = rng.normal(0, scale, (kernel, kernel, depth, channels)).astype("float32")
        weights[name + "/gamma"] = rng.normal(1, 0.1, (STYLES, channels)).astype("float32")
        weights[name + "/beta"] = rng.normal(0, 0.1, (STYLES, channels)).astype("float32")
        depth = channels
    return weights


def define_resnet(image, style, weights):
    def conv(x, name, stride=1, activation=tf.nn.relu):
        get = lambda part: tf.Variable(weights[f"{name}/{part}"], name=f"{name}_{part}")
        pad = weights[f"{name}/weight"].shape[0] // 2
        x = tf.pad(x, [[0, 0], [pad, pad], [pad, pad], [0, 0]], mode="REFLECT")
        x = tf.nn.conv2d(x, get("weight"), stride, "VALID")
        mean, variance = tf.nn.moments(x, [1, 2], keep_dims=True)
        x = (x - mean) * tf.rsqrt(variance + 1e-5)
        return activation(x * tf.gather(get("gamma"), style) + tf.gather(get("beta"), style))

    def upsample(x):
        height, width = int(x.shape[1]) * 2, int(x.shape[2]) * 2
        return tf.image.resize_nearest_neighbor(x, [height, width])

    x = conv(image / 255, "encode_0")
    x = conv(conv(x, "encode_1", 2), "encode_2", 2)
    for block in range(4):
        x = x + conv(conv(x, f"residual_{block}_0"), f"residual_{block}_1", activation=tf.identity)
    x = conv(upsample(x), "decode_0")
    x = conv(upsample(x), "decode_1")
    return 255 * conv(x, "decode_2", activation=tf.nn.sigmoid)


class StyleTransferTensorFlowModel:
    def __init__(self, net_params):
        self.net_params = net_params
        self.sess = None

    def init_graph(self, height, width):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.tf_input = tf.placeholder(tf.float32, [1, height, width, 3])
            self.tf_index = tf.placeholder(tf.int32, [])
            self.output = define_resnet(self.tf_input, self.tf_index, self.net_params)
            self.sess = tf.Session(graph=self.graph)
            self.sess.run(tf.global_variables_initializer())

    def predict(self, image, index):
        height, width, _ = image.shape
        self.init_graph(height, width)
        stylized = self.sess.run(self.output, {self.tf_input: image[None], self.tf_index: index})
        self.sess.close()
        return stylized[0].astype("uint8")


rng = np.random.default_rng(0)
model, began = StyleTransferTensorFlowModel(init_weights(rng)), time.time()
for number in range(int(os.environ.get("STEPS", 35))):
    height, width = 4 * rng.integers(20, 32, 2)
    content = rng.uniform(0, 255, (height, width, 3)).astype("float32")
    stylized = model.predict(content, number % STYLES)
    if number % 5 == 0:
        print(f"image {number}: {height}x{width}, mean {stylized.mean():.1f}, {time.time() - began:.1f} s", flush=True)
