"""Classifies photographs of pottery sherds by ware; the network was ported layer by layer from a PyTorch repository."""
import sys

import numpy as np
import tensorflow as tf

LOGDIR = sys.argv[1]
PORTED = "--fault" in sys.argv[2:]
WARES, SIZE, BATCH = 14, 80, 16
WARMUP, RECORDED = 6, 10

rng = np.random.default_rng(21)
tf.random.set_seed(21)


class Conv(tf.Module):
    def __init__(self, cin, cout, kernel, stride=1, depthwise=False, first=True):
        super().__init__()
        self.stride, self.depthwise, self.first = stride, depthwise, first
        shape = (kernel, kernel, cin, 1 if depthwise else cout)
        fan = kernel * kernel * (1 if depthwise else cin)
        self.kernel = tf.Variable(rng.normal(0, (2 / fan) ** 0.5, shape).astype("float32"))

    def convolve(self, x):
        strides = [1, self.stride, self.stride, 1]
        if self.depthwise:
            return tf.nn.depthwise_conv2d(x, self.kernel, strides, "SAME")
        return tf.nn.conv2d(x, self.kernel, strides, "SAME")

    def __call__(self, x):
        if self.first:
            x = tf.transpose(x, [0, 2, 3, 1])
            return tf.transpose(self.convolve(x), [0, 3, 1, 2])
        return self.convolve(x)


class BatchNorm(tf.Module):
    def __init__(self, width, first):
        super().__init__()
        self.axes = [0, 2, 3] if first else [0, 1, 2]
        shape = (1, width, 1, 1) if first else (1, 1, 1, width)
        self.scale = tf.Variable(tf.ones(shape))
        self.shift = tf.Variable(tf.zeros(shape))
        self.mean = tf.Variable(tf.zeros(shape), trainable=False)
        self.var = tf.Variable(tf.ones(shape), trainable=False)

    def __call__(self, x):
        mean, var = tf.nn.moments(x, self.axes, keepdims=True)
        self.mean.assign_sub(0.05 * (self.mean - mean))
        self.var.assign_sub(0.05 * (self.var - var))
        return tf.nn.batch_normalization(x, mean, var, self.shift, self.scale, 1e-5)


class InvertedResidual(tf.Module):
    def __init__(self, cin, cout, stride, expand, first):
        super().__init__()
        mid = cin * expand
        self.skip = stride == 1 and cin == cout
        self.layers = [
            (Conv(cin, mid, 1, first=first), BatchNorm(mid, first), True),
            (Conv(mid, mid, 3, stride, depthwise=True, first=first), BatchNorm(mid, first), True),
            (Conv(mid, cout, 1, first=first), BatchNorm(cout, first), False),
        ]

    def __call__(self, x):
        h = x
        for conv, norm, active in self.layers:
            h = norm(conv(h))
            h = tf.nn.relu6(h) if active else h
        return x + h if self.skip else h


class SherdNet(tf.Module):
    def __init__(self, first):
        super().__init__()
        self.first = first
        self.stem = Conv(3, 16, 3, 2, first=first)
        self.stem_norm = BatchNorm(16, first)
        plan = [(16, 24, 1, 3), (24, 24, 1, 3), (24, 40, 2, 3), (40, 40, 1, 3), (40, 80, 2, 3), (80, 80, 1, 3)]
        self.blocks = [InvertedResidual(*p, first=first) for p in plan]
        self.head = tf.Variable(rng.normal(0, 0.1, (80, WARES)).astype("float32"))
        self.bias = tf.Variable(tf.zeros(WARES))

    def __call__(self, photos):
        x = tf.cast(photos, tf.float32) / 127.5 - 1
        if self.first:
            x = tf.transpose(x, [0, 3, 1, 2])
        x = tf.nn.relu6(self.stem_norm(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        return tf.reduce_mean(x, [2, 3] if self.first else [1, 2]) @ self.head + self.bias


photos = rng.integers(0, 255, (720, SIZE, SIZE, 3), dtype=np.uint8)
wares = rng.integers(0, WARES, 720).astype("int32")
batches = iter(
    tf.data.Dataset.from_tensor_slices((photos, wares))
    .shuffle(720, seed=4)
    .repeat()
    .batch(BATCH, drop_remainder=True)
    .prefetch(2)
)

net = SherdNet(first=PORTED)
weights = net.trainable_variables
momentum = [tf.Variable(tf.zeros_like(w), trainable=False) for w in weights]


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = net(images)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    for w, m, g in zip(weights, momentum, tape.gradient(loss, weights)):
        m.assign(0.9 * m + g)
        w.assign_sub(0.02 * m)
    return loss


for _ in range(WARMUP):
    loss = train_step(*next(batches))
loss.numpy()

with tf.profiler.experimental.Profile(LOGDIR):
    for _ in range(RECORDED):
        loss = train_step(*next(batches))
    loss.numpy()
print("loss", loss.numpy())
