import os
import time

import keras
import numpy as np
import tensorflow as tf

REFLECTIONS, IMAGES, METADATA, OBSERVATIONS = 2000, 100, 6, 20000


class VariationalMergingModel(keras.Model):
    """Structure factors of a crystal and the scales of its images, merged by variational inference."""

    def __init__(self, layers=5, width=24):
        super().__init__()
        self.loc = self.add_weight(shape=(REFLECTIONS,), initializer="ones", name="loc")
        self.log_scale = self.add_weight(shape=(REFLECTIONS,), initializer=keras.initializers.Constant(-2))
        dense = [keras.layers.Dense(width, activation="leaky_relu") for _ in range(layers)]
        self.scaling_model = keras.Sequential(dense + [keras.layers.Dense(1)])

    def call(self, inputs, mc_samples):
        refl_id, metadata = inputs
        noise = tf.random.normal((mc_samples, REFLECTIONS))
        F = tf.abs(self.loc + noise * tf.exp(self.log_scale))
        scale = tf.exp(self.scaling_model(metadata)[:, 0])
        return scale * tf.gather(F, refl_id, axis=1) ** 2

    def elbo(self, data, mc_samples):
        refl_id, metadata, iobs, sigiobs = data
        ipred = self((refl_id, metadata), mc_samples=mc_samples)
        nll = tf.reduce_mean(tf.math.log1p(((ipred - iobs) / sigiobs) ** 2))
        kl = tf.reduce_mean(0.5 * (self.loc**2 + tf.exp(2 * self.log_scale)) - self.log_scale)
        return nll + 0.05 * kl, nll, kl, tf.reduce_mean(ipred, 0)

    @tf.function
    def train_on(self, data):
        with tf.GradientTape() as tape:
            loss, nll, kl, _ = self.elbo(data, mc_samples=4)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss, "NLL": nll, "KLDiv": kl}

    @tf.function
    def test_on(self, data):
        loss, nll, _, ipred = self.elbo(data, mc_samples=32)
        order = tf.cast(tf.argsort(tf.argsort(ipred)), tf.float32), tf.cast(tf.argsort(tf.argsort(data[2])), tf.float32)
        centred = [rank - tf.reduce_mean(rank) for rank in order]
        cc = tf.reduce_sum(centred[0] * centred[1]) / tf.norm(centred[0]) / tf.norm(centred[1])
        return {"loss_val": loss, "NLL_val": nll, "CCpred_val": cc}

    def train_model(self, train, test, iterations):
        history, began = [], time.time()
        for i in range(iterations):
            metrics = dict(self.train_on(train))
            metrics.update(self.test_on(test))
            history.append({key: float(value) for key, value in metrics.items()})
            if i % 20 == 0:
                print(i, {key: round(value, 3) for key, value in history[-1].items()}, f"{time.time() - began:.1f} s")
        return history


def observe(rng):
    """Intensities of reflections on images, with what is known of each observation."""
    truth, gains = rng.rayleigh(0.8, REFLECTIONS), rng.uniform(0.5, 2, IMAGES)
    refl_id, image = rng.integers(REFLECTIONS, size=OBSERVATIONS), rng.integers(IMAGES, size=OBSERVATIONS)
    metadata = rng.normal(size=(OBSERVATIONS, METADATA))
    metadata[:, 0] = np.log(gains[image])
    sigiobs = rng.uniform(0.05, 0.3, OBSERVATIONS)
    iobs = gains[image] * np.exp(0.2 * metadata[:, 1]) * truth[refl_id] ** 2 + sigiobs * rng.normal(size=OBSERVATIONS)
    half = [part[image < IMAGES // 2] for part in (refl_id, metadata, iobs, sigiobs)]
    other = [part[image >= IMAGES // 2] for part in (refl_id, metadata, iobs, sigiobs)]
    return [[tf.constant(data[0])] + [tf.constant(part, tf.float32) for part in data[1:]] for data in (half, other)]


keras.utils.set_random_seed(0)
train, test = observe(np.random.default_rng(0))
model = VariationalMergingModel()
model.optimizer = keras.optimizers.Adam(0.01)
model.train_model(train, test, int(os.environ.get("STEPS", 800)))
