"""Turns the spelling of old parish registers into modern spelling: GRU encoder, GRU decoder with additive attention."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

LETTERS, SRC, TGT, BATCH, UNITS = 64, 56, 28, 32, 192


def make_lines(count=2000):
    rng = np.random.default_rng(8)
    modern = rng.integers(3, LETTERS, (count, TGT)).astype(np.int32)
    old = np.repeat(modern, SRC // TGT, axis=1)
    noise = rng.random(old.shape) < 0.15
    old[noise] = rng.integers(3, LETTERS, int(noise.sum()))
    return old, modern


class Encoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(LETTERS, 96)
        self.rnn = layers.Bidirectional(layers.GRU(UNITS, return_sequences=True))
        self.bridge = layers.Dense(UNITS, activation="tanh")

    def call(self, letters, training=False):
        memory = self.rnn(self.embed(letters), training=training)
        return memory, self.bridge(tf.reduce_mean(memory, axis=1))


class AdditiveAttention(keras.Model):
    def __init__(self, units, fault):
        super().__init__()
        self.fault = fault
        self.query_layer = layers.Dense(units)
        self.memory_layer = keras.Sequential([layers.LayerNormalization(), layers.Dense(units, use_bias=False)])
        self.score_layer = layers.Dense(1, use_bias=False)

    def prepare(self, memory):
        return memory if self.fault else self.memory_layer(memory)

    def call(self, query, memory, prepared):
        keys = self.memory_layer(prepared) if self.fault else prepared
        scores = self.score_layer(tf.nn.tanh(self.query_layer(query)[:, None] + keys))
        weights = tf.nn.softmax(scores, axis=1)
        return tf.reduce_sum(weights * memory, axis=1)


class Decoder(keras.Model):
    def __init__(self, fault):
        super().__init__()
        self.embed = layers.Embedding(LETTERS, 96)
        self.attention = AdditiveAttention(192, fault)
        self.cell = layers.GRUCell(UNITS)
        self.out = layers.Dense(LETTERS)

    def decode(self, letters, memory, state):
        inputs = tf.transpose(self.embed(letters), (1, 0, 2))
        prepared = self.attention.prepare(memory)
        states = tf.TensorArray(tf.float32, size=TGT, element_shape=(BATCH, UNITS))
        for t in tf.range(TGT):
            context = self.attention(state, memory, prepared)
            state, _ = self.cell(tf.concat([inputs[t], context], axis=-1), [state])
            states = states.write(t, state)
        return self.out(tf.transpose(states.stack(), (1, 0, 2)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    tf.random.set_seed(1)

    old, modern = make_lines()
    dataset = (
        tf.data.Dataset.from_tensor_slices((old, modern))
        .shuffle(2000)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    encoder, decoder = Encoder(), Decoder(args.fault)
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(2e-3, 1000, 0.8), global_clipnorm=1.0)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(source, target):
        shifted = tf.concat([tf.ones((BATCH, 1), tf.int32), target[:, :-1]], axis=1)
        with tf.GradientTape() as tape:
            memory, state = encoder(source, training=True)
            logits = decoder.decode(shifted, memory, state)
            loss = loss_fn(target, logits)
        variables = encoder.trainable_variables + decoder.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    batches = iter(dataset)
    source, target = next(batches)
    decoder.decode(target, *encoder(source))  # creates the variables
    for _ in range(8):
        loss = train_step(*next(batches))
    print(f"after warm-up: {float(loss):.3f}")

    with tf.profiler.experimental.Profile(args.logdir):
        for _ in range(10):
            loss = train_step(*next(batches))
        final = float(loss)
    print(f"loss {final:.3f}")


if __name__ == "__main__":
    main()
