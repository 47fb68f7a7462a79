import os

import keras
import numpy as np
import tensorflow as tf

CHARS, WIDTH, HEIGHT, T, BATCH, TRAIN, VALID, BEAM = "abcdefghijklmnopqrst", 64, 16, 16, 16, 192, 96, 25
BLANK = len(CHARS)


class WordBeamSearch:
    def __init__(self, beam_width, corpus):
        self.beam_width, self.words, self.following = beam_width, set(corpus), {}
        for word in corpus:
            for i, char in enumerate(word):
                self.following.setdefault(word[:i], set()).add(char)

    def compute(self, mats):
        return [self.decode(mat) for mat in mats]

    def decode(self, mat):
        beams = {"": (1.0, 0.0)}
        for probs in mat:
            best, beams = sorted(beams.items(), key=lambda beam: -sum(beam[1]))[: self.beam_width], {}
            for text, (blank, other) in best:
                stay = other * probs[CHARS.index(text[-1])] if text else 0.0
                was_blank, was_other = beams.get(text, (0.0, 0.0))
                beams[text] = was_blank + (blank + other) * probs[BLANK], was_other + stay
                for char in self.following.get(text, ()):
                    gain = (blank if text[-1:] == char else blank + other) * probs[CHARS.index(char)]
                    was_blank, was_other = beams.get(text + char, (0.0, 0.0))
                    beams[text + char] = was_blank, was_other + gain
        return max((text in self.words, sum(p), text) for text, p in beams.items())[2]


def get_batches(count):
    for _ in range(count // BATCH):
        texts = list(rng.choice(corpus, BATCH))
        images = rng.normal(0, 0.25, (BATCH, HEIGHT, WIDTH)).astype("float32")
        for image, text in zip(images, texts):
            image[:, : 8 * len(text)] += np.hstack([glyphs[CHARS.index(char)] for char in text])
        yield images[..., None], texts


@tf.function(input_signature=[tf.TensorSpec((None, HEIGHT, WIDTH, 1)), tf.SparseTensorSpec((None, None), tf.int32)])
def train_batch(images, labels):
    with tf.GradientTape() as tape:
        logits = tf.transpose(model(images), (1, 0, 2))
        loss = tf.reduce_mean(tf.compat.v1.nn.ctc_loss(labels, logits, tf.fill([tf.shape(images)[0]], T)))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss


def to_sparse(texts):
    places = [(i, j) for i, text in enumerate(texts) for j in range(len(text))]
    return tf.SparseTensor(places, [CHARS.index(char) for text in texts for char in text], (len(texts), 8))


def validate():
    right = [
        text == recognized
        for images, texts in get_batches(VALID)
        for text, recognized in zip(texts, decoder.compute(infer(images).numpy()))
    ]
    return np.mean(right)


keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
glyphs = rng.random((len(CHARS), HEIGHT, 8)) < 0.4
corpus = ["".join(rng.choice(list(CHARS), rng.integers(3, 8))) for _ in range(400)]
conv = lambda filters: keras.layers.Conv2D(filters, 3, 2, padding="same", activation="relu")
layers = [keras.Input((HEIGHT, WIDTH, 1)), conv(16), conv(32)]
layers += [keras.layers.Permute((2, 1, 3)), keras.layers.Reshape((T, 128))]
layers += [keras.layers.Bidirectional(keras.layers.LSTM(32, return_sequences=True)), keras.layers.Dense(BLANK + 1)]
model, optimizer, decoder = keras.Sequential(layers), keras.optimizers.Adam(3e-3), WordBeamSearch(BEAM, corpus)
infer = tf.function(lambda images: tf.nn.softmax(model(images)))
for epoch in range(int(os.environ.get("STEPS", 24))):
    losses = [float(train_batch(images, to_sparse(texts))) for images, texts in get_batches(TRAIN)]
    print(f"epoch {epoch} loss {np.mean(losses):.3f} word accuracy {validate():.3f}", flush=True)
