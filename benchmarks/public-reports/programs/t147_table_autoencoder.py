import os
import time

import keras
import numpy as np
import tensorflow as tf

ROWS, BATCH, LATENT = 8000, 64, 12
CONTINUOUS = [f"amount_{i}" for i in range(8)]
CATEGORICAL = {f"kind_{i}": 4 + i for i in range(6)}


def make_table(rng):
    hidden = rng.normal(size=(ROWS, 4))
    table = {}
    for name in CONTINUOUS:
        table[name] = (np.tanh(hidden @ rng.normal(size=(4, 1))) + 0.1 * rng.normal(size=(ROWS, 1))).astype("float32")
    for name, kinds in CATEGORICAL.items():
        choice = (hidden @ rng.normal(size=(4, kinds))).argmax(1)
        table[name] = np.eye(kinds, dtype="float32")[choice]
    return table


class CVAE(keras.Model):
    def __init__(self):
        super().__init__()
        dense = keras.layers.Dense
        self.inputs_of = {n: dense(16, "relu") for n in CONTINUOUS + list(CATEGORICAL)}
        self.encoder = keras.Sequential([dense(96, "relu"), keras.layers.BatchNormalization(), dense(64, "relu")])
        self.mu, self.log_sigma = dense(LATENT), dense(LATENT)
        self.decoder = keras.Sequential([dense(64, "relu"), keras.layers.BatchNormalization(), dense(96, "relu")])
        self.outputs_of = {n: dense(1) for n in CONTINUOUS}
        self.outputs_of.update({n: dense(kinds) for n, kinds in CATEGORICAL.items()})

    def call(self, features, training=False):
        x = self.encoder(tf.concat([self.inputs_of[n](v) for n, v in features.items()], -1), training=training)
        mu, log_sigma = self.mu(x), self.log_sigma(x)
        z = mu + tf.exp(log_sigma) * tf.random.normal(tf.shape(mu))
        h = self.decoder(z, training=training)
        return {n: layer(h) for n, layer in self.outputs_of.items()}, mu, log_sigma


class VAEWrapper:
    def __init__(self):
        self.model, self.optimizer = CVAE(), keras.optimizers.Adam(1e-3)
        self.feature_losses = {}

    def _train_step(self, batch):
        with tf.GradientTape() as tape:
            decoded, mu, log_sigma = self.model(batch, training=True)
            kl_loss = -0.5 * tf.reduce_mean(1 + 2 * log_sigma - tf.square(mu) - tf.exp(2 * log_sigma))
            loss = 0.1 * kl_loss
            for name, value in batch.items():
                if name in CATEGORICAL:
                    error = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(value, decoded[name]))
                else:
                    error = tf.reduce_mean(tf.square(value - decoded[name]))
                self.feature_losses[name] = error.numpy()
                loss += error
            self.kl_loss = kl_loss.numpy()
        gradients = tape.gradient(loss, self.model.trainable_weights)
        self.optimizer.apply(gradients, self.model.trainable_weights)
        return loss.numpy()


keras.utils.set_random_seed(0)
steps, start, losses = int(os.environ.get("STEPS", 40)), time.time(), []
dataset = tf.data.Dataset.from_tensor_slices(make_table(np.random.default_rng(0))).shuffle(ROWS, seed=0)
vae = VAEWrapper()
for step, batch in enumerate(dataset.batch(BATCH, drop_remainder=True).repeat().take(steps), 1):
    losses.append(vae._train_step(batch))
    if step % 10 == 0:
        worst = max(vae.feature_losses, key=vae.feature_losses.get)
        print(f"step {step}, {time.time() - start:.1f} s, loss {np.mean(losses[-10:]):.4f}, worst {worst}", flush=True)
