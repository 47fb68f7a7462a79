import os
import tempfile
import time

import keras
import numpy as np
import tensorflow as tf

NUMBERS = [f"I{i}" for i in range(1, 14)]
CATEGORIES = [f"C{i}" for i in range(1, 27)]
BUCKETS, BATCH, COUNT = 200, 256, 6400


def write_records(path):
    rng = np.random.default_rng(0)
    numbers = rng.exponential(size=(COUNT, len(NUMBERS))).astype("float32")
    categories = rng.zipf(1.3, size=(COUNT, len(CATEGORIES))) % BUCKETS
    effect = rng.normal(size=BUCKETS)
    clicks = effect[categories[:, :6]].sum(1) + 0.5 * numbers[:, :4].sum(1) + rng.normal(size=COUNT) > 2.5
    with tf.io.TFRecordWriter(path) as writer:
        for row, ids, click in zip(numbers.tolist(), categories.tolist(), clicks.tolist()):
            feature = {name: tf.train.Feature(float_list={"value": [x]}) for name, x in zip(NUMBERS, row)}
            for name, x in zip(CATEGORIES, ids):
                feature[name] = tf.train.Feature(int64_list={"value": [x]})
            feature["label"] = tf.train.Feature(float_list={"value": [float(click)]})
            writer.write(tf.train.Example(features={"feature": feature}).SerializeToString())


def read_and_decode(serialized):
    spec = {name: tf.io.FixedLenFeature([], tf.float32) for name in NUMBERS + ["label"]}
    spec.update({name: tf.io.FixedLenFeature([], tf.int64) for name in CATEGORIES})
    features = tf.io.parse_single_example(serialized, spec)
    numbers = tf.math.log1p(tf.stack([features[name] for name in NUMBERS], -1))
    return numbers, tf.stack([features[name] for name in CATEGORIES], -1), features["label"]


def input_pipeline(path):
    records = tf.data.TFRecordDataset(path).repeat().shuffle(2000, seed=1)
    return records.map(read_and_decode).batch(BATCH).prefetch(tf.data.AUTOTUNE)


class ClickModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = keras.layers.Embedding(BUCKETS * len(CATEGORIES), 4)
        self.hidden = keras.Sequential([keras.layers.Dense(32, "relu"), keras.layers.Dense(16, "relu")])
        self.logit = keras.layers.Dense(1)

    def call(self, numbers, categories):
        ids = categories + tf.range(len(CATEGORIES), dtype=tf.int64) * BUCKETS
        embedded = tf.reshape(self.embedding(ids), (-1, 4 * len(CATEGORIES)))
        return self.logit(self.hidden(tf.concat([numbers, embedded], -1)))[:, 0]


def main(steps):
    keras.utils.set_random_seed(0)
    model, optimizer = ClickModel(), keras.optimizers.SGD(0.1)

    @tf.function
    def train_step(numbers, categories, labels):
        with tf.GradientTape() as tape:
            logits = model(numbers, categories)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "clicks.tfrecord")
        write_records(path)
        start = time.time()
        for step, (numbers, categories, labels) in enumerate(input_pipeline(path).take(steps), 1):
            loss = train_step(numbers, categories, labels)
            if step % 100 == 0:
                print(f"step {step}, {time.time() - start:.1f} s, loss {float(loss):.4f}", flush=True)


main(int(os.environ.get("STEPS", 700)))
