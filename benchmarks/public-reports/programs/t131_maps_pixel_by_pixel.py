import math
import os

import keras
import numpy as np
import tensorflow as tf

SIZE, STRIDE, SIGMA, BATCH, PER_EPOCH = 64, 4, 4.0, 8, 20
SKELETON = np.array([[0, -20], [0, -12], [-11, -4], [11, -4], [0, 4], [-7, 18], [7, 18]])
LIMBS = [(0, 1), (1, 2), (1, 3), (1, 4), (4, 5), (4, 6)]


class CocoMetadata:
    def __init__(self, joint_list):
        self.joint_list = joint_list

    def get_heatmap(self):
        heatmap = np.zeros((len(SKELETON) + 1, SIZE, SIZE), "float32")
        for joints in self.joint_list:
            for idx, point in enumerate(joints):
                self.put_heatmap(heatmap[idx], point)
        heatmap[-1] = np.clip(1 - heatmap[:-1].max(0), 0, 1)
        return shrink(heatmap)

    def put_heatmap(self, plane, center, threshold=4.6):
        reach = SIGMA * math.sqrt(2 * threshold)
        x0, y0 = (max(0, int(c - reach)) for c in center)
        x1, y1 = (min(SIZE, int(c + reach) + 1) for c in center)
        for y in range(y0, y1):
            for x in range(x0, x1):
                exponent = ((x - center[0]) ** 2 + (y - center[1]) ** 2) / 2 / SIGMA**2
                if exponent <= threshold:
                    plane[y][x] = max(plane[y][x], math.exp(-exponent))

    def get_vectormap(self):
        vectormap = np.zeros((2 * len(LIMBS), SIZE, SIZE), "float32")
        countmap = np.zeros((len(LIMBS), SIZE, SIZE), "int16")
        for joints in self.joint_list:
            for plane, (start, end) in enumerate(LIMBS):
                self.put_vectormap(vectormap, countmap, plane, joints[start], joints[end])
        return shrink(vectormap / np.maximum(countmap, 1).repeat(2, 0))

    def put_vectormap(self, vectormap, countmap, plane, start, end, width=4):
        (sx, sy), (ex, ey) = start, end
        norm = math.hypot(ex - sx, ey - sy)
        vx, vy = (ex - sx) / norm, (ey - sy) / norm
        for y in range(max(0, int(min(sy, ey)) - width), min(SIZE, int(max(sy, ey)) + width)):
            for x in range(max(0, int(min(sx, ex)) - width), min(SIZE, int(max(sx, ex)) + width)):
                if abs(vx * (y - sy) - vy * (x - sx)) <= width:
                    countmap[plane][y][x] += 1
                    vectormap[2 * plane][y][x] += vx
                    vectormap[2 * plane + 1][y][x] += vy


def shrink(maps):
    small = maps.reshape(len(maps), SIZE // STRIDE, STRIDE, SIZE // STRIDE, STRIDE).mean((2, 4))
    return small.transpose(1, 2, 0).astype("float32")


def get_dataflow(seed=0):
    rng = np.random.default_rng(seed)
    while True:
        people = SKELETON * rng.uniform(0.7, 1.0, (2, 1, 1)) + rng.uniform(18, 46, (2, 1, 2))
        image = rng.random((SIZE, SIZE, 3), "float32") * 0.3
        for x, y in people.reshape(-1, 2).astype(int):
            image[max(0, y - 2) : max(0, y + 3), max(0, x - 2) : max(0, x + 3)] += 0.7
        meta = CocoMetadata(people.tolist())
        yield image, np.concatenate([meta.get_heatmap(), meta.get_vectormap()], -1)


keras.utils.set_random_seed(0)
channels = len(SKELETON) + 1 + 2 * len(LIMBS)
conv = lambda filters, strides: keras.layers.Conv2D(filters, 3, strides, padding="same", activation="relu")
layers = [keras.Input((SIZE, SIZE, 3)), conv(16, 2), conv(32, 2), conv(32, 1), keras.layers.Conv2D(channels, 1)]
net = keras.Sequential(layers)
net.compile("adam", "mse")
specs = tf.TensorSpec((SIZE, SIZE, 3)), tf.TensorSpec((SIZE // STRIDE, SIZE // STRIDE, channels))
dataflow = tf.data.Dataset.from_generator(get_dataflow, output_signature=specs).batch(BATCH).prefetch(4)
steps = int(os.environ.get("STEPS", 120))
net.fit(dataflow, steps_per_epoch=min(steps, PER_EPOCH), epochs=max(1, steps // PER_EPOCH), verbose=2)
