import os
import tempfile
import time

import keras
import numpy as np

NGRAMS, FEATURE_LEN, RACES = 2, 20, ["asian", "hispanic", "nh_black", "nh_white"]
ENDINGS = {"asian": "ang en uan", "hispanic": "ez ado era", "nh_black": "ton kins ford", "nh_white": "son berg ley"}
FOLDER = tempfile.mkdtemp()
MODEL, VOCAB = os.path.join(FOLDER, "ln_lstm.keras"), os.path.join(FOLDER, "ln_vocab.csv")


def last_names(rng, count):
    names, races = [], rng.integers(len(RACES), size=count)
    for race in races:
        start = "".join(rng.choice(list("bcdfglmnprst")) + rng.choice(list("aeiou")) for _ in range(2))
        names.append((start + rng.choice(ENDINGS[RACES[race]].split())).title())
    return names, races


def find_ngrams(vocab, name):
    grams = [name[i : i + NGRAMS] for i in range(len(name) - NGRAMS + 1)]
    return [vocab[gram] for gram in grams if gram in vocab]


def to_sequences(vocab, names):
    X = np.zeros((len(names), FEATURE_LEN), "int32")
    for row, name in zip(X, names):
        ids = find_ngrams(vocab, name)[:FEATURE_LEN]
        row[FEATURE_LEN - len(ids) :] = ids
    return X


def train_voter_model(rng):
    names, races = last_names(rng, 2000)
    grams = sorted({name[i : i + NGRAMS] for name in names for i in range(len(name) - 1)})
    with open(VOCAB, "w") as f:
        f.write("\n".join(grams))
    vocab = {gram: number for number, gram in enumerate(grams, 1)}
    layers = [
        keras.layers.Input((FEATURE_LEN,), dtype="int32"),
        keras.layers.Embedding(len(vocab) + 1, 32),
        keras.layers.LSTM(64, dropout=0.2),
        keras.layers.Dense(len(RACES), activation="softmax"),
    ]
    model = keras.Sequential(layers)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(to_sequences(vocab, names), races, batch_size=64, epochs=3, verbose=2)
    model.save(MODEL)


def pred_reg_ln(names):
    """Predicts the race from the last name with the voter registration model."""
    with open(VOCAB) as f:
        vocab = {gram: number for number, gram in enumerate(f.read().split("\n"), 1)}
    X = to_sequences(vocab, names)
    model = keras.models.load_model(MODEL)
    proba = model.predict(X, verbose=0)
    return [RACES[i] for i in proba.argmax(1)], proba


keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
train_voter_model(rng)
right, seen, began = 0, 0, time.time()
for page in range(int(os.environ.get("STEPS", 30))):
    names, races = last_names(rng, 25)
    predicted, proba = pred_reg_ln(names)
    right += sum(RACES[race] == p for race, p in zip(races, predicted))
    seen += len(names)
    if page % 5 == 0:
        print(f"page {page}: {names[0]} {predicted[0]} {proba[0].max():.2f},", end=" ")
        print(f"accuracy {right / seen:.3f}, {time.time() - began:.1f} s", flush=True)
