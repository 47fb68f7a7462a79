import os
from collections import namedtuple

import keras
import numpy as np

NET, ANCHORS = 320, [(58, 45, 78, 99, 186, 163), (15, 30, 31, 22, 29, 59)]
LABELS = "person bicycle car motorbike bus train truck boat bench bird cat dog".split()
BoundBox = namedtuple("BoundBox", "xmin ymin xmax ymax objness classes")


def per_channel(box, objectness, classes):
    values = np.tile([box] * 4 + [objectness] + [classes] * len(LABELS), 3)
    return lambda shape, dtype=None: keras.ops.convert_to_tensor(values, dtype)


def head(x):
    x = keras.layers.Conv2D(3 * (5 + len(LABELS)), 1, use_bias=False)(x)
    initial = {"gamma_initializer": per_channel(0.5, 3.0, 3.0), "beta_initializer": per_channel(0.0, -7.5, -1.0)}
    return keras.layers.BatchNormalization(momentum=0.0, **initial)(x)


def make_yolo():
    x = inputs = keras.layers.Input((NET, NET, 3))
    for filters in (12, 24, 32, 48):
        x = keras.layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = keras.layers.LeakyReLU()(keras.layers.BatchNormalization(momentum=0.0)(x))
    deep = keras.layers.Conv2D(64, 3, strides=2, padding="same", activation="leaky_relu")(x)
    up = keras.layers.Concatenate()([keras.layers.UpSampling2D(2, interpolation="nearest")(deep), x])
    return keras.Model(inputs, [head(deep), head(up)])


def bbox_iou(a, b):
    width = max(0.0, min(a.xmax, b.xmax) - max(a.xmin, b.xmin))
    height = max(0.0, min(a.ymax, b.ymax) - max(a.ymin, b.ymin))
    areas = (a.xmax - a.xmin) * (a.ymax - a.ymin) + (b.xmax - b.xmin) * (b.ymax - b.ymin)
    return width * height / (areas - width * height)


def decode_netout(netout, anchors, obj_thresh):
    grid_h, grid_w = netout.shape[:2]
    netout = netout.reshape(grid_h, grid_w, 3, -1).copy()
    netout[..., :2] = 1.0 / (1.0 + np.exp(-netout[..., :2]))
    netout[..., 4:] = 1.0 / (1.0 + np.exp(-netout[..., 4:]))
    netout[..., 5:] *= netout[..., 4:5]
    netout[..., 5:] *= netout[..., 5:] > obj_thresh
    boxes = []
    for row, col, b in np.ndindex(grid_h, grid_w, 3):
        objectness = netout[row, col, b, 4]
        if objectness.all() <= obj_thresh:
            continue
        x, y, w, h = netout[row, col, b, :4]
        x, y, w, h = (col + x) / grid_w, (row + y) / grid_h, np.exp(w) / NET, np.exp(h) / NET
        w, h = anchors[2 * b] * w, anchors[2 * b + 1] * h
        boxes.append(BoundBox(x - w / 2, y - h / 2, x + w / 2, y + h / 2, objectness, netout[row, col, b, 5:]))
    return boxes


def do_nms(boxes, nms_thresh):
    for c in range(len(LABELS)):
        order = np.argsort([-box.classes[c] for box in boxes])
        for i, index_i in enumerate(order):
            if boxes[index_i].classes[c] == 0:
                continue
            for index_j in order[i + 1 :]:
                if bbox_iou(boxes[index_i], boxes[index_j]) >= nms_thresh:
                    boxes[index_j].classes[c] = 0


keras.utils.set_random_seed(0)
rng, model = np.random.default_rng(0), make_yolo()
images = np.kron(rng.uniform(size=(16, 40, 40, 3)), np.ones((1, 8, 8, 1)))
model(images, training=True)
for frame in range(int(os.environ.get("STEPS", 80))):
    outputs = model.predict(images[rng.integers(16, size=1)] + rng.normal(size=(1, NET, NET, 3)) * 0.05, verbose=0)
    boxes = [box for out, anchors in zip(outputs, ANCHORS) for box in decode_netout(out[0], anchors, 0.5)]
    do_nms(boxes, 0.45)
    found = [LABELS[np.argmax(box.classes)] for box in boxes if box.classes.max() > 0.5]
    if frame % 10 == 0:
        print(frame, len(found), found[:5], flush=True)
