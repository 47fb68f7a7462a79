import os
import time

import keras
import numpy as np
import tensorflow as tf

SIZE, CLASSES, BATCH = 128, 5, 8
STRIDES, RATIOS, SCALES = (8, 16, 32), (0.5, 1.0, 2.0), (1.0, 1.26, 1.59)


def make_images(rng, count=64):
    images = rng.normal(0, 0.2, (count, SIZE, SIZE, 3)).astype("float32")
    for image in images:
        for _ in range(6):
            (y, x), (h, w) = rng.integers(16, SIZE - 16, 2), rng.integers(5, 16, 2)
            image[y - h : y + h, x - w : x + w] += rng.uniform(-1, 2, 3)
    return images


def make_anchors():
    anchors = []
    for stride in STRIDES:
        centres = np.stack(np.mgrid[0:SIZE:stride, 0:SIZE:stride], -1).reshape(-1, 1, 2) + stride / 2
        sizes = np.array([[s * r**0.5, s / r**0.5] for r in RATIOS for s in SCALES]) * 3 * stride
        anchors.append(np.concatenate(np.broadcast_arrays(centres, sizes[None]), -1).reshape(-1, 4))
    return tf.constant(np.concatenate(anchors), tf.float32)


class NonMaxSuppression:
    def __init__(self, iou_threshold=0.5, confidence_threshold=0.5, max_detections=100):
        self.iou, self.confidence, self.count = iou_threshold, confidence_threshold, max_detections

    def __call__(self, boxes, logits):
        probabilities = tf.sigmoid(logits)
        classes, scores = tf.argmax(probabilities, -1), tf.reduce_max(probabilities, -1)
        found, valid = tf.image.non_max_suppression_padded(
            boxes, scores, self.count, self.iou, self.confidence, pad_to_max_output_size=True
        )
        boxes, scores, classes = (tf.gather(x, found, batch_dims=1) for x in (boxes, scores, classes))
        return {"boxes": boxes, "confidence": scores, "classes": classes, "num_detections": valid}


class RetinaNet(keras.Model):
    def __init__(self, prediction_decoder):
        super().__init__()
        self.prediction_decoder, self.anchors = prediction_decoder, make_anchors()
        stem = [keras.layers.Conv2D(c, 3, 2, padding="same", activation="relu") for c in (8, 16)]
        self.stem = keras.Sequential(stem)
        self.stages = [keras.layers.Conv2D(32, 3, 2, padding="same", activation="relu") for _ in STRIDES]
        per_anchor = len(RATIOS) * len(SCALES)
        wide = keras.initializers.RandomNormal(0.0, 0.5)
        self.box_head = keras.layers.Conv2D(4 * per_anchor, 3, padding="same")
        self.class_head = keras.layers.Conv2D(CLASSES * per_anchor, 3, padding="same", kernel_initializer=wide)

    def call(self, images):
        x, boxes, logits = self.stem(images), [], []
        for stage in self.stages:
            x = stage(x)
            boxes.append(tf.reshape(self.box_head(x), (-1, x.shape[1] * x.shape[2] * 9, 4)))
            logits.append(tf.reshape(self.class_head(x), (-1, x.shape[1] * x.shape[2] * 9, CLASSES)))
        return tf.concat(boxes, 1), tf.concat(logits, 1) - 4.0

    def predict_step(self, data):
        deltas, logits = self(data[0] if isinstance(data, tuple) else data, training=False)
        centres = deltas[..., :2] * 0.1 * self.anchors[:, 2:] + self.anchors[:, :2]
        sizes = tf.exp(deltas[..., 2:] * 0.2) * self.anchors[:, 2:]
        return self.prediction_decoder(tf.concat([centres - sizes / 2, centres + sizes / 2], -1), logits)


def main(steps):
    keras.utils.set_random_seed(0)
    images, model, start = make_images(np.random.default_rng(0)), RetinaNet(NonMaxSuppression()), time.time()
    for step in range(0, steps, len(images) // BATCH):
        found = model.predict(images, batch_size=BATCH, verbose=0)
        print(f"{step} batches, {time.time() - start:.1f} s, {found['num_detections'].mean():.1f} objects", flush=True)


main(int(os.environ.get("STEPS", 48)))
