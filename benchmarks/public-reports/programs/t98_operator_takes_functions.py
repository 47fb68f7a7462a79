import os
import time

import keras
import numpy as np
import tensorflow as tf

SIZE, CLASSES = 24, 8


class TFOperator:
    """The operations that the detectors need, for TensorFlow."""

    @staticmethod
    @tf.function
    def gradient(func, inputs):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(inputs)
            outputs = func(inputs)
        return tape.gradient(outputs, inputs)


class ODIN:
    def __init__(self, temperature=1000, noise=0.014):
        self.temperature, self.noise, self.op = temperature, noise, TFOperator

    def fit(self, model):
        self.model = model
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
        return self

    def input_perturbation(self, inputs):
        labels = tf.argmax(self.model(inputs), axis=1)

        def loss_fn(x):
            return self.loss(labels, self.model(x) / self.temperature)

        gradients = self.op.gradient(loss_fn, inputs)
        return inputs - self.noise * tf.sign(gradients)

    def score(self, inputs):
        x = self.input_perturbation(tf.convert_to_tensor(inputs))
        return -np.max(tf.nn.softmax(self.model(x) / self.temperature), axis=1)


def build_model():
    x = inputs = keras.layers.Input((SIZE, SIZE, 3))
    for filters in (8, 16, 32):
        x = keras.layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
        y = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = keras.layers.ReLU()(keras.layers.Add()([x, keras.layers.BatchNormalization()(y)]))
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, keras.layers.Dense(CLASSES)(x))


def pictures(rng, count, unknown=False):
    labels = rng.integers(CLASSES, size=count)
    x = rng.normal(0, 0.3, (count, SIZE, SIZE, 3)).astype("float32")
    for image, label in zip(x, labels):
        if not unknown:
            image[label * 3 : label * 3 + 3, 4:20, label % 3] += 1.0
    return x, labels


keras.utils.set_random_seed(0)
rng, began = np.random.default_rng(0), time.time()
model = build_model()
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(*pictures(rng, 1024), batch_size=64, epochs=2, verbose=2)
odin, known, unknown = ODIN().fit(model), [], []
for batch in range(int(os.environ.get("STEPS", 60))):
    scores = known if batch % 2 == 0 else unknown
    scores.append(odin.score(pictures(rng, 32, unknown=batch % 2 == 1)[0]))
    if batch % 6 == 5:
        auroc = np.mean(np.concatenate(unknown)[:, None] > np.concatenate(known)[None])
        print(f"batch {batch}: AUROC {auroc:.3f}, {time.time() - began:.1f} s", flush=True)
