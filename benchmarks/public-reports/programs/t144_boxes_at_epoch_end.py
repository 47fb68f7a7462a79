import os
import time

import keras
import numpy as np
import tensorflow as tf

SIZE, GRID, BATCH, TRAIN, VALID = 64, 8, 16, 640, 120


def make_images(count, seed):
    rng = np.random.default_rng(seed)
    images = rng.random((count, SIZE, SIZE, 3), "float32") * 0.3
    boxes = np.zeros((count, 4), "float32")
    for image, box in zip(images, boxes):
        w, h = rng.integers(12, 28, 2)
        x, y = rng.integers(0, SIZE - w), rng.integers(0, SIZE - h)
        image[y : y + h, x : x + w] += 0.6
        box[:] = x, y, w, h
    return images, boxes


def make_dataset(count, seed):
    images, boxes = make_images(count, seed)
    cells = ((boxes[:, :2] + boxes[:, 2:] / 2) * GRID / SIZE).astype(int)
    target = np.zeros((count, GRID, GRID, 5), "float32")
    target[np.arange(count), cells[:, 1], cells[:, 0], 0] = 1
    target[..., 1:] = boxes[:, None, None] / SIZE
    return tf.data.Dataset.from_tensor_slices((images, target)).batch(BATCH)


def detection_loss(y_true, y_pred):
    score = tf.nn.sigmoid_cross_entropy_with_logits(y_true[..., 0], y_pred[..., 0])
    box = tf.reduce_sum(tf.abs(y_true[..., 1:] - y_pred[..., 1:]), -1)
    return tf.reduce_mean(score + 5 * y_true[..., 0] * box, (1, 2))


def best_boxes(maps):
    flat = maps.reshape(len(maps), -1, 5)
    best = flat[np.arange(len(flat)), flat[..., 0].argmax(1)]
    return best[:, 0], best[:, 1:]


def average_precision(scores, boxes, truth):
    low = np.maximum(boxes[:, :2], truth[:, :2])
    high = np.minimum(boxes[:, :2] + boxes[:, 2:], truth[:, :2] + truth[:, 2:])
    inter = np.clip(high - low, 0, None).prod(1)
    iou = inter / (boxes[:, 2:].prod(1) + truth[:, 2:].prod(1) - inter)
    hits = np.cumsum((iou > 0.5)[np.argsort(-scores)])
    return np.mean(hits / np.arange(1, len(hits) + 1))


class PyCOCOCallback(keras.callbacks.Callback):
    def __init__(self, validation_data):
        super().__init__()
        self.val_data, self.start = validation_data.cache(), time.time()

    def on_epoch_end(self, epoch, logs=None):
        scores, boxes, truth = [], [], []
        for images, target in self.val_data:
            score, box = best_boxes(self.model.predict(images, verbose=0))
            scores.append(score)
            boxes.append(box)
            truth.append(best_boxes(target.numpy())[1])
        ap = average_precision(np.concatenate(scores), np.concatenate(boxes), np.concatenate(truth))
        print(f"epoch {epoch}, {time.time() - self.start:.1f} s, loss {logs['loss']:.4f}, AP {ap:.3f}", flush=True)


keras.utils.set_random_seed(0)
conv = lambda filters: keras.layers.Conv2D(filters, 3, 2, padding="same", activation="relu")
layers = [keras.Input((SIZE, SIZE, 3)), conv(16), conv(32), conv(64), keras.layers.Conv2D(5, 3, padding="same")]
model = keras.Sequential(layers)
model.compile("adam", detection_loss)
callback = PyCOCOCallback(make_dataset(VALID, 1).unbatch().batch(4))
model.fit(make_dataset(TRAIN, 0), epochs=int(os.environ.get("STEPS", 6)), verbose=0, callbacks=[callback])
