import os

import keras
import numpy as np

SIZE, CLASSES, IMAGES, BATCH, EPOCH = 128, 3, 200, 4, 20
STRIDE, SCALES = 8, (1, 1.5, 2.2, 3.3)


def draw_images(seed):
    rng = np.random.default_rng(seed)
    images, annotations = rng.normal(0, 0.2, (IMAGES, SIZE, SIZE, 1)).astype("float32"), []
    for image in images:
        labels = rng.integers(CLASSES, size=rng.integers(4, 12))
        corners, sizes = rng.integers(0, SIZE - 48, (len(labels), 2)), rng.integers(12, 48, (len(labels), 2))
        for label, (x, y), (w, h) in zip(labels, corners, sizes):
            image[y : y + h : 1 + label, x : x + w] += 1
        annotations.append((np.concatenate([corners, corners + sizes], 1).astype(float), labels))
    return images, annotations


def make_anchors():
    y, x = np.mgrid[STRIDE // 2 : SIZE : STRIDE, STRIDE // 2 : SIZE : STRIDE]
    halves = [STRIDE * scale for scale in SCALES]
    anchors = [np.stack([x - half, y - half, x + half, y + half], -1) for half in halves]
    return np.stack(anchors, 2).reshape(-1, 4).astype(float)


def compute_overlap(boxes, query_boxes):
    overlaps = np.zeros((len(boxes), len(query_boxes)))
    for k, (x1, y1, x2, y2) in enumerate(query_boxes):
        for n in range(len(boxes)):
            width = min(boxes[n, 2], x2) - max(boxes[n, 0], x1)
            height = min(boxes[n, 3], y2) - max(boxes[n, 1], y1)
            if width > 0 and height > 0:
                other = (boxes[n, 2] - boxes[n, 0]) * (boxes[n, 3] - boxes[n, 1])
                overlaps[n, k] = width * height / ((x2 - x1) * (y2 - y1) + other - width * height)
    return overlaps


class Generator(keras.utils.PyDataset):
    def __init__(self, images, annotations):
        super().__init__()
        self.images, self.annotations, self.anchors = images, annotations, make_anchors()
        self.rng = np.random.default_rng(1)

    def __len__(self):
        return EPOCH

    def compute_targets(self, boxes, labels):
        overlaps = compute_overlap(self.anchors, boxes)
        nearest = overlaps.argmax(1)
        kinds = (overlaps.max(1)[:, None] >= 0.5) * np.eye(CLASSES)[labels[nearest]]
        return np.concatenate([kinds, (boxes[nearest] - self.anchors) / SIZE], 1)

    def __getitem__(self, index):
        group = self.rng.integers(0, len(self.images), BATCH)
        return self.images[group], np.stack([self.compute_targets(*self.annotations[i]) for i in group])


def detection_loss(targets, outputs):
    kinds, shifts = targets[..., :CLASSES], keras.ops.abs(targets - outputs)[..., CLASSES:]
    entropy = keras.ops.binary_crossentropy(kinds, outputs[..., :CLASSES], from_logits=True)
    return keras.ops.mean(keras.ops.sum(entropy, -1) + keras.ops.sum(kinds, -1) * keras.ops.sum(shifts, -1), -1)


def build_model():
    layers = [keras.layers.Conv2D(c, 3, 2, "same", activation="relu") for c in (8, 16, 32)]
    outputs = keras.layers.Conv2D(len(SCALES) * (CLASSES + 4), 3, padding="same")
    return keras.Sequential([*layers, outputs, keras.layers.Reshape((-1, CLASSES + 4))])


def main(steps):
    keras.utils.set_random_seed(0)
    model = build_model()
    model.compile(keras.optimizers.Adam(1e-3, clipnorm=1e-3), detection_loss)
    model.fit(Generator(*draw_images(0)), epochs=max(1, steps // EPOCH), verbose=2)


main(int(os.environ.get("STEPS", 400)))
