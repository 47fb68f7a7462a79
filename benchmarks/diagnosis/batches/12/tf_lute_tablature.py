"""Writes French lute tablature from recordings: convolutional encoder, recurrent decoder with additive attention."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMES, BINS = 128, 48
TOKENS, LENGTH = 72, 40
UNITS = 96
BATCH = 16
WARM_UP, RECORDED = 6, 10


def recordings(count=256, seed=3):
    rng = np.random.default_rng(seed)
    letters = rng.integers(2, TOKENS, (count, LENGTH)).astype(np.int32)
    ends = rng.integers(LENGTH // 2, LENGTH + 1, count)
    letters[np.arange(LENGTH)[None] >= ends[:, None]] = 0
    courses = rng.normal(size=(TOKENS, BINS)).astype(np.float32)
    at = np.minimum(np.arange(FRAMES) * LENGTH // FRAMES, LENGTH - 1)
    sound = courses[letters[:, at]] + 0.3 * rng.standard_normal((count, FRAMES, BINS), dtype=np.float32)
    return sound, letters


class Decoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(TOKENS, UNITS)
        self.cell = layers.LSTMCell(UNITS)
        self.query = layers.Dense(UNITS)
        self.score = layers.Dense(1)
        self.out = layers.Dense(TOKENS)

    def call(self, token, h, c, memory, keys):
        weights = tf.nn.softmax(self.score(tf.tanh(keys + self.query(h)[:, None])), axis=1)
        context = tf.reduce_sum(weights * memory, axis=1)
        x = tf.concat([self.embedding(token), context], axis=-1)
        _, (h, c) = self.cell(x, [h, c])
        return self.out(tf.concat([h, context], axis=-1)), h, c


class Transcriber:
    def __init__(self):
        self.encoder = keras.Sequential(
            [
                keras.Input((FRAMES, BINS)),
                layers.Conv1D(128, 5, padding="same", activation="relu"),
                layers.Conv1D(128, 5, padding="same", activation="relu"),
                layers.Conv1D(UNITS, 5, strides=2, padding="same", activation="relu"),
                layers.LayerNormalization(),
            ]
        )
        self.keys = layers.Dense(UNITS)
        self.decoder = Decoder()
        self.optimizer = keras.optimizers.Adam(1e-3)
        self.decode = tf.function(self.decoder.__call__)

    @tf.function
    def encode(self, sound):
        memory = self.encoder(sound, training=True)
        return memory, self.keys(memory)

    @tf.function
    def update(self, grads):
        self.optimizer.apply_gradients(zip(grads, self.variables))

    def build(self, sound, letters):
        memory, keys = self.encode(sound)
        start = tf.zeros((BATCH, UNITS))
        self.decode(letters[:, 0], start, start, memory, keys)
        self.variables = (
            self.encoder.trainable_variables + self.keys.trainable_variables + self.decoder.trainable_variables
        )
        self.optimizer.build(self.variables)

    def train_step(self, sound, letters):
        with tf.GradientTape() as tape:
            memory, keys = self.encode(sound)
            h = c = tf.zeros((BATCH, UNITS))
            token = tf.ones((BATCH,), tf.int32)
            loss = 0.0
            for i in range(LENGTH):
                logits, h, c = self.decode(token, h, c, memory, keys)
                target = letters[:, i]
                mask = tf.cast(target > 0, tf.float32)
                loss += tf.reduce_sum(mask * tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits))
                token = target
            loss /= tf.reduce_sum(tf.cast(letters > 0, tf.float32))
        self.update(tape.gradient(loss, self.variables))
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    sound, letters = recordings()
    data = tf.data.Dataset.from_tensor_slices((sound, letters)).shuffle(len(letters)).repeat()
    stream = iter(data.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE))
    transcriber = Transcriber()
    transcriber.build(*next(stream))
    train_step = transcriber.train_step if args.fault else tf.function(transcriber.train_step)

    for _ in range(WARM_UP):
        loss = train_step(*next(stream))
    print(f"loss {float(loss):.3f}")
    tf.profiler.experimental.start(args.logdir)
    for step in range(RECORDED):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(*next(stream))
    print(f"loss {float(loss):.3f}")
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main()
