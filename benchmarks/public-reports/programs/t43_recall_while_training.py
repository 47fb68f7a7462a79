import os

import keras
import numpy as np
import tensorflow as tf

SIZE, GRID, OBJECTS, BATCH, EPOCH = 64, 8, 4, 16, 50
THRESHOLDS = [0.5 + 0.05 * k for k in range(10)]


def make_pictures(count, seed):
    """Bright rectangles on noise, with their boxes, and boxes and presence on a grid."""
    rng = np.random.default_rng(seed)
    pictures = rng.normal(0, 0.2, (count, SIZE, SIZE, 1)).astype("float32")
    boxes = np.zeros((count, OBJECTS, 4), "float32")
    targets = np.zeros((count, GRID, GRID, 5), "float32")
    for i in range(count):
        for j in range(OBJECTS):
            (y, x), (h, w) = rng.integers(8, SIZE - 8, 2), rng.integers(3, 8, 2)
            pictures[i, y - h : y + h, x - w : x + w] += 1
            boxes[i, j] = np.array([y - h, x - w, y + h, x + w]) / SIZE
            targets[i, y * GRID // SIZE, x * GRID // SIZE] = [*boxes[i, j], 1]
    return tf.data.Dataset.from_tensor_slices((pictures, (boxes, targets)))


def overlaps(a, b):
    low, high = tf.maximum(a[:, None, :2], b[None, :, :2]), tf.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = tf.reduce_prod(tf.maximum(high - low, 0), -1)
    area_a, area_b = tf.reduce_prod(a[:, 2:] - a[:, :2], -1), tf.reduce_prod(b[:, 2:] - b[:, :2], -1)
    return shared / (area_a[:, None] + area_b[None] - shared + 1e-6)


class BoxRecall(keras.metrics.Metric):
    def __init__(self, name="recall"):
        super().__init__(name=name)
        self.found = self.add_variable((len(THRESHOLDS),), "zeros", name="found")
        self.total = self.add_variable((), "zeros", name="total")

    @tf.function
    def update_state(self, boxes, predicted):
        for i in tf.range(BATCH):
            shared = overlaps(boxes[i], predicted[i])
            for t, threshold in enumerate(THRESHOLDS):
                free, hits = tf.ones(tf.shape(predicted)[1]), 0.0
                for j in tf.range(OBJECTS):
                    best = tf.argmax(shared[j] * free, output_type=tf.int32)
                    hit = tf.cast(shared[j, best] * free[best] > threshold, tf.float32)
                    free -= hit * tf.one_hot(best, tf.shape(free)[0])
                    hits += hit
                self.found.assign_add(hits * tf.one_hot(t, len(THRESHOLDS)))
        self.total.assign_add(float(BATCH * OBJECTS))

    def result(self):
        return tf.reduce_mean(self.found) / (self.total + 1e-6)


class Detector(keras.Model):
    def __init__(self):
        super().__init__()
        convs = [keras.layers.Conv2D(c, 3, 2, padding="same", activation="relu") for c in (8, 16, 32)]
        self.layers_ = keras.Sequential([*convs, keras.layers.Conv2D(5, 1)])
        self.loss_tracker, self.recall = keras.metrics.Mean(name="loss"), BoxRecall()

    def call(self, pictures):
        return self.layers_(pictures)

    def decode(self, outputs):
        flat = tf.reshape(outputs, (BATCH, GRID * GRID, 5))
        scores = tf.sigmoid(flat[..., 4:])
        return tf.image.combined_non_max_suppression(flat[:, :, None, :4], scores, 20, 20, 0.5).nmsed_boxes

    def box_loss(self, outputs, targets):
        there = targets[..., 4]
        boxes = tf.reduce_sum(tf.abs(outputs[..., :4] - targets[..., :4]), -1) * there
        return tf.reduce_mean(boxes + tf.nn.sigmoid_cross_entropy_with_logits(there, outputs[..., 4]))

    def train_step(self, data):
        pictures, (boxes, targets) = data
        with tf.GradientTape() as tape:
            outputs = self(pictures, training=True)
            loss = self.box_loss(outputs, targets)
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        self.loss_tracker.update_state(loss)
        self.recall.update_state(boxes, self.decode(outputs))
        return {"loss": self.loss_tracker.result(), "recall": self.recall.result()}

    def test_step(self, data):
        pictures, (boxes, targets) = data
        outputs = self(pictures)
        self.loss_tracker.update_state(self.box_loss(outputs, targets))
        self.recall.update_state(boxes, self.decode(outputs))
        return {"loss": self.loss_tracker.result(), "recall": self.recall.result()}


def main(steps):
    keras.utils.set_random_seed(0)
    train = make_pictures(BATCH * EPOCH, 0).shuffle(BATCH * EPOCH).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    valid = make_pictures(BATCH * 2, 1).batch(BATCH)
    model = Detector()
    model.compile(keras.optimizers.Adam(1e-3))
    model.fit(train, validation_data=valid, epochs=max(1, steps // EPOCH), verbose=2)


main(int(os.environ.get("STEPS", 500)))
