"""Sentiment of short reviews with Keras."""

import numpy as np
import tensorflow as tf

WORDS = 12000
LENGTH = 60
rng = np.random.default_rng(0)
vocabulary = [f"word{number}" for number in range(WORDS)]
index = {word: number + 1 for number, word in enumerate(vocabulary)}


def made_reviews(count):
    texts, labels = [], []
    for _ in range(count):
        label = int(rng.integers(2))
        low, high = (0, WORDS // 2) if label else (WORDS // 3, WORDS)
        words = rng.integers(low, high, rng.integers(30, LENGTH))
        texts.append(" ".join(vocabulary[word] for word in words))
        labels.append(label)
    return np.array(texts), np.array(labels, np.float32)


def encode(text):
    ids = [index.get(word, 0) for word in text.numpy().decode().lower().split()]
    ids = ids[:LENGTH] + [0] * (LENGTH - len(ids))
    return np.array(ids, np.int64)


def encoded(text, label):
    ids = tf.py_function(encode, [text], tf.int64)
    ids.set_shape([LENGTH])
    return ids, label


class F1(tf.keras.callbacks.Callback):
    """On reviews that were held out, at the end of each epoch."""

    def __init__(self, texts, labels):
        super().__init__()
        self.rows = np.stack([encode(tf.constant(text)) for text in texts])
        self.labels = labels

    def on_epoch_end(self, epoch, logs=None):
        scores = []
        for row in self.rows:
            scores.append(self.model.predict(row[None], verbose=0)[0, 0])
        found = np.array(scores) > 0.5
        hits = float((found * self.labels).sum())
        f1 = 2 * hits / max(found.sum() + self.labels.sum(), 1)
        print(f"epoch {epoch}: F1 {f1:.3f}", flush=True)


class Histograms(tf.keras.callbacks.Callback):
    """Of every layer's weights after every batch, to be plotted."""

    def __init__(self):
        super().__init__()
        self.counts = []

    def on_train_batch_end(self, batch, logs=None):
        self.counts.append([np.histogram(w, 30)[0] for w in self.model.get_weights()])


def main():
    texts, labels = made_reviews(6400)
    held_texts, held_labels = made_reviews(40)
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels))
    dataset = dataset.shuffle(1000).map(encoded).batch(64)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Embedding(WORDS + 1, 64),
            tf.keras.layers.Conv1D(32, 5, activation="relu"),
            tf.keras.layers.GlobalMaxPooling1D(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    histograms = Histograms()
    held = F1(held_texts, held_labels)
    model.fit(dataset, epochs=8, verbose=2, callbacks=[histograms, held])
    print(len(histograms.counts), "times")


if __name__ == "__main__":
    main()
