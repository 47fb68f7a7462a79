import os

import keras
import numpy as np
import tensorflow as tf

SIZE, CLASSES, BATCH, CHANNELS, LEVELS = 64, 5, 4, 16, (8, 16, 32)


def make_dataset(count, seed):
    rng = np.random.default_rng(seed)
    images = rng.normal(0, 0.2, (count, SIZE, SIZE, 3)).astype("float32")
    boxes, labels = np.zeros((count, 4), "float32"), rng.integers(CLASSES, size=count)
    for i in range(count):
        (y, x), (h, w) = rng.integers(14, SIZE - 14, 2), rng.integers(6, 14, 2)
        images[i, y - h : y + h, x - w : x + w, labels[i] % 3] += 1 + labels[i] // 3
        boxes[i] = y - h, x - w, y + h, x + w
    return tf.data.Dataset.from_tensor_slices((images, (boxes, labels))).repeat().batch(BATCH)


def sep_conv(x, channels=CHANNELS, strides=1):
    x = keras.layers.SeparableConv2D(channels, 3, strides, padding="same")(x)
    return keras.layers.Activation("swish")(keras.layers.BatchNormalization()(x))


def bifpn_cell(features):
    features, up, down = list(features), keras.layers.UpSampling2D(2), keras.layers.MaxPooling2D(2)
    for i in (1, 0):
        features[i] = sep_conv(keras.layers.Add()([features[i], up(features[i + 1])]))
    for i in (1, 2):
        features[i] = sep_conv(keras.layers.Add()([features[i], down(features[i - 1])]))
    return features


def build_efficientdet(cells=4, repeats=3):
    inputs = keras.Input((SIZE, SIZE, 3))
    x, features = sep_conv(sep_conv(inputs, strides=2), strides=2), []
    for _ in LEVELS:
        x = sep_conv(sep_conv(x, strides=2))
        features.append(x)
    for _ in range(cells):
        features = bifpn_cell(features)
    outputs = []
    for size in (CLASSES, 4):
        convs = [keras.layers.SeparableConv2D(CHANNELS, 3, padding="same", activation="swish") for _ in range(repeats)]
        head, flat = keras.layers.SeparableConv2D(size, 3, padding="same"), []
        for feature in features:
            for conv in convs:
                feature = keras.layers.BatchNormalization()(conv(feature))
            flat.append(keras.layers.Reshape((-1, size))(head(feature)))
        outputs.append(keras.layers.Concatenate(axis=1)(flat))
    return keras.Model(inputs, outputs)


def anchor_boxes():
    anchors = []
    for stride in LEVELS:
        centres = np.stack(np.mgrid[0:SIZE:stride, 0:SIZE:stride], -1).reshape(-1, 2) + stride / 2
        anchors.append(np.concatenate([centres - stride, centres + stride], 1))
    return tf.constant(np.concatenate(anchors), tf.float32)


def main(steps):
    keras.utils.set_random_seed(0)
    model, anchors, overlaps = build_efficientdet(), anchor_boxes(), []

    def detect(images):
        cls_outputs, box_outputs = model(images, training=False)
        boxes, scores = anchors + 8.0 * box_outputs, tf.sigmoid(cls_outputs)
        return tf.image.combined_non_max_suppression(boxes[:, :, None] / SIZE, scores, 10, 10, 0.5)

    for step, (images, (boxes, labels)) in enumerate(make_dataset(200, 1).take(steps), 1):
        found = detect(images).nmsed_boxes.numpy()[:, 0] * SIZE
        low, high = np.maximum(found[:, :2], boxes[:, :2]), np.minimum(found[:, 2:], boxes[:, 2:])
        overlaps.append(np.prod(np.maximum(high - low, 0), 1) / np.prod(boxes[:, 2:] - boxes[:, :2], 1))
        if step % 10 == 0:
            print(f"{step} batches, overlap {np.mean(overlaps):.3f}", flush=True)


main(int(os.environ.get("STEPS", 70)))
