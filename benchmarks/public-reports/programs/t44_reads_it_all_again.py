import os

import keras
import numpy as np
import tensorflow as tf

WORDS, WIDTH, HEADS, LAYERS, LENGTH = 2000, 128, 4, 4, 160


class DecoderBlock(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = keras.layers.LayerNormalization(), keras.layers.LayerNormalization()
        self.qkv, self.project = keras.layers.Dense(3 * WIDTH), keras.layers.Dense(WIDTH)
        self.up, self.down = keras.layers.Dense(4 * WIDTH, activation="gelu"), keras.layers.Dense(WIDTH)

    def attend(self, q, k, v, mask):
        q, k, v = (tf.reshape(part, (tf.shape(part)[0], -1, HEADS, WIDTH // HEADS)) for part in (q, k, v))
        scores = tf.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5
        weights = tf.nn.softmax(tf.where(mask, scores, -1e9))
        return tf.reshape(tf.einsum("bhqk,bkhd->bqhd", weights, v), (tf.shape(q)[0], -1, WIDTH))

    def call(self, x, mask):
        q, k, v = tf.split(self.qkv(self.norm1(x)), 3, -1)
        x = x + self.project(self.attend(q, k, v, mask))
        return x + self.down(self.up(self.norm2(x)))


class CausalLM(keras.Model):
    def __init__(self):
        super().__init__()
        self.tokens = keras.layers.Embedding(WORDS, WIDTH)
        self.positions = keras.layers.Embedding(LENGTH, WIDTH)
        self.blocks = [DecoderBlock() for _ in range(LAYERS)]
        self.norm, self.out = keras.layers.LayerNormalization(), keras.layers.Dense(WORDS)

    def call(self, tokens):
        x = self.tokens(tokens) + self.positions(tf.range(LENGTH))
        mask = tf.linalg.band_part(tf.ones((LENGTH, LENGTH), tf.bool), -1, 0)
        for block in self.blocks:
            x = block(x, mask=mask)
        return self.out(self.norm(x))

    @tf.function
    def generate(self, prompt):
        batch, start = prompt.shape
        tokens = tf.pad(prompt, [[0, 0], [0, LENGTH - start]])
        for index in tf.range(start, LENGTH):
            logits = self(tokens)[:, index - 1]
            chosen = tf.random.categorical(logits / 0.8, 1, dtype=tf.int32)
            tokens += chosen * tf.one_hot(index, LENGTH, dtype=tf.int32)
        return tokens


def main(count):
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    model = CausalLM()
    model(tf.zeros((1, LENGTH), tf.int32))
    for number in range(count):
        prompts = rng.integers(1, WORDS, (2, 16)).astype("int32")
        text = model.generate(tf.constant(prompts)).numpy()
        print(f"{number}: {len(np.unique(text[:, 16:]))} different words, {text[0, 16:24]} ...", flush=True)


main(int(os.environ.get("STEPS", 8)))
