"""Reads lines of Greek papyri: a convolutional network with CTC over the columns of the line's picture."""
import argparse
import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

HEIGHT, WIDTH, BATCH = 32, 320, 16
CLASSES = 44  # 0 pads, 1..42 are letters and signs, 43 is the blank
LETTERS = 24
WARMUP, CAPTURED = 6, 12


def papyri(count=400, seed=11):
    rng = np.random.default_rng(seed)
    glyphs = rng.random((CLASSES, HEIGHT, 12)).astype(np.float32) > 0.6
    pictures = np.full((count, HEIGHT, WIDTH, 1), 0.8, np.float32)
    labels = np.zeros((count, LETTERS), np.int32)
    for n in range(count):
        length = rng.integers(14, LETTERS + 1)
        labels[n, :length] = rng.integers(1, CLASSES - 1, length)
        for k in range(length):
            pictures[n, :, 13 * k : 13 * k + 12, 0] -= 0.6 * glyphs[labels[n, k]]
    pictures += 0.05 * rng.normal(size=pictures.shape).astype(np.float32)
    return pictures, labels


def build():
    x = inputs = keras.Input((HEIGHT, WIDTH, 1))
    for width, strides in ((24, (2, 2)), (48, (2, 2)), (64, (2, 1))):
        x = keras.layers.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.Activation("relu")(x)
    x = keras.layers.Permute((2, 1, 3))(x)
    x = keras.layers.Reshape((WIDTH // 4, -1))(x)
    x = keras.layers.Dense(160, activation="relu")(x)
    for dilation in (1, 2, 4):
        y = keras.layers.Conv1D(160, 5, dilation_rate=dilation, padding="same", activation="relu")(x)
        x = keras.layers.LayerNormalization()(keras.layers.Add()([x, y]))
    return keras.Model(inputs, keras.layers.Dense(CLASSES)(x))


def best_path(logits, lengths):
    decoded, _ = tf.nn.ctc_greedy_decoder(logits, lengths)
    return decoded[0]


def best_beam(logits, lengths):
    decoded, _ = tf.nn.ctc_beam_search_decoder(logits, lengths, beam_width=16, top_paths=1)
    return decoded[0]


def make_step(model, optimizer, decode):
    @tf.function
    def step(pictures, labels):
        truth = tf.sparse.from_dense(labels)
        lengths = tf.fill([BATCH], WIDTH // 4)
        with tf.GradientTape() as tape:
            logits = tf.transpose(model(pictures, training=True), [1, 0, 2])
            losses = tf.nn.ctc_loss(truth, logits, None, lengths, blank_index=-1)
            loss = tf.reduce_mean(losses)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        errors = tf.edit_distance(decode(logits, lengths), tf.cast(truth, tf.int64))
        return loss, tf.reduce_mean(errors), tf.nn.log_softmax(logits)

    return step


class Journal:
    """Keeps the character error rate, and the column by column probabilities where asked."""

    def __init__(self, folder, columns):
        self.folder, self.columns, self.rates = pathlib.Path(folder), columns, []

    def write(self, step, rate, logp):
        self.rates.append(float(rate))
        if self.columns:
            table = logp.numpy().reshape(-1, CLASSES)
            np.savetxt(self.folder / f"columns_{step:06d}.txt.gz", table, fmt="%.5f")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(5)

    data = tf.data.Dataset.from_tensor_slices(papyri())
    source = iter(data.shuffle(400, seed=1).repeat().batch(BATCH, drop_remainder=True).prefetch(2))
    model = build()
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    step = make_step(model, optimizer, best_beam if args.fault else best_path)
    folder = tempfile.mkdtemp(prefix="papyri")
    journal = Journal(folder, columns=args.fault)
    try:
        for n in range(WARMUP + CAPTURED):
            if n == WARMUP:
                tf.profiler.experimental.start(args.logdir)
            loss, rate, logp = step(*next(source))
            journal.write(n, rate, logp)
        tf.profiler.experimental.stop()
    finally:
        shutil.rmtree(folder)
    print("loss", round(float(loss), 2), "error rate", round(journal.rates[-1], 3))


if __name__ == "__main__":
    main()
