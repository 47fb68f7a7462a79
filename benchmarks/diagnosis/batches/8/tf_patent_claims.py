"""Technology section of patent claims: TextVectorization and a small transformer encoder."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LENGTH = 96
VOCAB = 6000
WIDTH = 128
SECTIONS = 8
BATCH = 32
WARMUP, RECORDED = 8, 10


def synthesise_claims(count):
    rng = np.random.default_rng(23)
    syllables = ["com", "pri", "sing", "fas", "ten", "hou", "val", "ro", "tor", "lu", "men", "dis", "po", "sed", "ca", "rri"]
    words = np.array(["".join(rng.choice(syllables, rng.integers(2, 5))) for _ in range(9000)])
    label = rng.integers(0, SECTIONS, count)
    texts = []
    for k in label:
        rank = np.minimum(rng.zipf(1.3, rng.integers(70, 110)), 1000) + 900 * k
        texts.append("A device comprising " + " ".join(words[rank]) + ", wherein said part is movable.")
    return np.array(texts), label.astype(np.int32)


@keras.saving.register_keras_serializable()
class TokenAndPosition(layers.Layer):
    def __init__(self, vocab, length, width, **kwargs):
        super().__init__(**kwargs)
        self.token = layers.Embedding(vocab, width)
        self.position = layers.Embedding(length, width)
        self.length = length

    def call(self, tokens):
        return self.token(tokens) + self.position(tf.range(self.length))[None]


def encoder_block(x, mask, heads=4, dropout=0.1):
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.MultiHeadAttention(heads, WIDTH // heads, dropout=dropout)(y, y, attention_mask=mask)
    x = layers.add([x, y])
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.Dense(4 * WIDTH, activation="gelu")(y)
    y = layers.Dropout(dropout)(layers.Dense(WIDTH)(y))
    return layers.add([x, y])


def build_model():
    tokens = keras.Input((LENGTH,), dtype="int64")
    mask = layers.Lambda(lambda t: tf.not_equal(t, 0)[:, None, :])(tokens)
    x = TokenAndPosition(VOCAB, LENGTH, WIDTH)(tokens)
    for _ in range(2):
        x = encoder_block(x, mask)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(x))
    return keras.Model(tokens, layers.Dense(SECTIONS)(x))


def main(logdir):
    keras.utils.set_random_seed(1)
    texts, labels = synthesise_claims(1200)
    vectorize = layers.TextVectorization(max_tokens=VOCAB, output_sequence_length=LENGTH)
    vectorize.adapt(tf.data.Dataset.from_tensor_slices(texts).batch(256))

    dataset = (
        tf.data.Dataset.from_tensor_slices((texts, labels))
        .shuffle(len(texts))
        .repeat()
        .batch(BATCH)
        .map(lambda t, y: (vectorize(t), y), num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )
    model = build_model()
    optimizer = keras.optimizers.Adam(3e-4)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    running = keras.metrics.Mean()

    @tf.function
    def train_step(tokens, labels):
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(tokens, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        running.update_state(loss)

    batches = iter(dataset)
    for _ in range(WARMUP):
        train_step(*next(batches))
    print(f"warm-up loss {float(running.result()):.3f}")
    running.reset_state()

    with tf.profiler.experimental.Profile(logdir):
        for step in range(RECORDED):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                tokens, labels = next(batches)
                train_step(tokens, labels)
    print(f"loss {float(running.result()):.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
