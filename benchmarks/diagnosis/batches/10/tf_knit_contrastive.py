"""SimCLR on swatches of knitted fabric: stitch patterns without labels."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SIZE = 32
BATCH = 224
DIM = 256
START, STOP = 8, 18


def swatches(n, seed=5):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    out = np.empty((n, SIZE, SIZE, 3), np.float32)
    for i in range(n):
        gauge = rng.uniform(2, 7)
        slant = rng.uniform(-1, 1)
        rib = np.sin(2 * np.pi * (xx + slant * yy) / gauge) * np.sin(2 * np.pi * yy / (gauge + 1))
        out[i] = 0.5 + 0.3 * rib[..., None] * rng.uniform(0.3, 1, 3).astype(np.float32)
    return np.clip(out + 0.05 * rng.standard_normal(out.shape), 0, 1).astype(np.float32)


def augment():
    return keras.Sequential(
        [layers.RandomFlip("horizontal"), layers.RandomTranslation(0.1, 0.1), layers.RandomContrast(0.3)]
    )


def encoder():
    inputs = keras.Input((SIZE, SIZE, 3))
    x = inputs
    for filters in (16, 32, 64):
        x = layers.Conv2D(filters, 3, padding="same", strides=2, use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(256, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(DIM)(x))


def pairwise_cosine(z):
    z = tf.math.l2_normalize(z, axis=-1)
    return tf.matmul(z, z, transpose_b=True)


def pairwise_similarity(z):
    return -keras.losses.cosine_similarity(z[:, None, :], z[None, :, :], axis=-1)


class SimCLR(keras.Model):
    def __init__(self, similarity, temperature=0.2):
        super().__init__()
        self.augment = augment()
        self.encoder = encoder()
        self.similarity = similarity
        self.temperature = temperature
        self.loss_metric = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.loss_metric]

    def call(self, x, training=False):
        return self.encoder(x, training=training)

    def nt_xent(self, z):
        n = tf.shape(z)[0]
        logits = self.similarity(z) / self.temperature
        logits = logits - 1e9 * tf.eye(n)
        positives = tf.roll(tf.range(n), shift=n // 2, axis=0)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=positives, logits=logits))

    def train_step(self, images):
        views = tf.concat([self.augment(images, training=True), self.augment(images, training=True)], axis=0)
        with tf.GradientTape() as tape:
            loss = self.nt_xent(self.encoder(views, training=True))
        grads = tape.gradient(loss, self.encoder.trainable_variables)
        self.optimizer.apply(grads, self.encoder.trainable_variables)
        self.loss_metric.update_state(loss)
        return {"loss": self.loss_metric.result()}


class Profile(keras.callbacks.Callback):
    def __init__(self, logdir):
        super().__init__()
        self.logdir = logdir

    def on_train_batch_begin(self, batch, logs=None):
        if batch == START:
            tf.profiler.experimental.start(self.logdir)
        elif batch == STOP:
            tf.profiler.experimental.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(2)
    data = tf.data.Dataset.from_tensor_slices(swatches(1344)).shuffle(1344, seed=4).repeat()
    data = data.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    model = SimCLR(pairwise_similarity if args.fault else pairwise_cosine)
    model.compile(optimizer=keras.optimizers.AdamW(1e-3, weight_decay=1e-4))
    model.fit(data, steps_per_epoch=22, epochs=1, callbacks=[Profile(args.logdir)], verbose=2)


if __name__ == "__main__":
    main()
