import os
import random
import time
from collections import defaultdict

import keras
import numpy as np
import tensorflow as tf

SIZE, CLASSES, PER_EPOCH = 48, 20, 20


def load_images(count, seed=0):
    rng = np.random.default_rng(seed)
    patterns = rng.random((CLASSES, SIZE, SIZE, 3), "float32")
    y = rng.integers(CLASSES, size=count)
    x = 0.5 * patterns[y] + 0.5 * rng.random((count, SIZE, SIZE, 3), "float32")
    return x, y


class MultiShotMemorySampler(keras.utils.PyDataset):
    """Batches with the same number of examples of each of some classes."""

    def __init__(self, x, y, classes_per_batch=8, examples_per_class_per_batch=4, steps_per_epoch=PER_EPOCH):
        super().__init__()
        self._x, self._y = x, y
        self.classes_per_batch = classes_per_batch
        self.examples_per_class_per_batch = examples_per_class_per_batch
        self.steps_per_epoch = steps_per_epoch
        self.index_per_class = defaultdict(list)
        for idx, cl in enumerate(y):
            self.index_per_class[int(cl)].append(idx)

    def __len__(self):
        return self.steps_per_epoch

    def __getitem__(self, batch_id):
        class_list = random.sample(sorted(self.index_per_class), k=self.classes_per_batch)
        idxs = []
        for class_id in class_list:
            idxs.extend(random.sample(self.index_per_class[class_id], k=self.examples_per_class_per_batch))
        batch_x, batch_y = [], []
        for idx in idxs:
            batch_x.append(self._x[idx])
            batch_y.append(self._y[idx])
        return tf.convert_to_tensor(batch_x), tf.convert_to_tensor(batch_y)


def multi_similarity_loss(y_true, embeddings, temperature=0.1):
    labels = tf.reshape(y_true, (-1, 1))
    same = tf.cast(labels == tf.transpose(labels), tf.float32) - tf.eye(tf.shape(labels)[0])
    logits = tf.matmul(embeddings, embeddings, transpose_b=True) / temperature
    logits -= 1e9 * tf.eye(tf.shape(labels)[0])
    log_prob = tf.nn.log_softmax(logits)
    return -tf.reduce_sum(same * log_prob, 1) / tf.reduce_sum(same, 1)


class Progress(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.start = time.time()

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch}, {time.time() - self.start:.1f} s, loss {logs['loss']:.4f}", flush=True)


random.seed(0)
keras.utils.set_random_seed(0)
conv = lambda filters: keras.layers.Conv2D(filters, 3, 2, padding="same", activation="relu")
layers = [keras.Input((SIZE, SIZE, 3)), conv(16), conv(32), conv(64), keras.layers.GlobalAveragePooling2D()]
layers += [keras.layers.Dense(64), keras.layers.UnitNormalization()]
model = keras.Sequential(layers)
model.compile("adam", multi_similarity_loss)
sampler = MultiShotMemorySampler(*load_images(1500))
epochs = max(1, int(os.environ.get("STEPS", 120)) // PER_EPOCH)
model.fit(sampler, epochs=epochs, verbose=0, callbacks=[Progress()])
