import os
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np

SENTENCES, ALPHABET, WORDS, THRESHOLD, EVERY, EPS = 900, "aiueoknstrmyhw", 400, 4, 20, 1e-7


def make_sentences(rng):
    """Sentences of a made language without spaces, and where its words begin."""
    lengths = rng.integers(1, 5, WORDS)
    words = ["".join(rng.choice(list(ALPHABET), n)) for n in lengths]
    popularity = 1.0 / np.arange(1, WORDS + 1)
    for _ in range(SENTENCES):
        chosen = rng.choice(WORDS, 5, p=popularity / popularity.sum())
        sentence = "".join(words[c] for c in chosen)
        yield sentence, set(np.cumsum([len(words[c]) for c in chosen]).tolist())


def get_features(sentence, i):
    padded = "___" + sentence + "___"
    window = padded[i : i + 6]
    features = [f"UW{k}:{window[k]}" for k in range(6)]
    features += [f"BW{k}:{window[k:k + 2]}" for k in range(5)]
    return features + [f"TW{k}:{window[k:k + 3]}" for k in range(4)]


def preprocess(sentences):
    entries = [(i in starts, get_features(text, i)) for text, starts in sentences for i in range(1, len(text))]
    counter = Counter(feature for _, found in entries for feature in found)
    index = {feature: n for n, (feature, count) in enumerate(counter.most_common()) if count > THRESHOLD}
    X, Y = np.zeros((len(entries), len(index) + 1), bool), np.array([label for label, _ in entries])
    for row, (_, found) in enumerate(entries):
        X[row, [index[feature] for feature in found if feature in index]] = True
    X[:, -1] = True
    return X, Y, list(index)


@jax.jit
def boost(weights, scores, wrong):
    """One round: the feature that predicts best alone, its score, and new weights of the entries."""
    errors = weights.dot(wrong)
    best = jnp.argmax(jnp.abs(errors - 0.5))
    inverted = errors[best] > 0.5
    error = jnp.where(inverted, 1 - errors[best], errors[best])
    alpha = jnp.log((1 - error + EPS) / (error + EPS))
    missed = wrong[:, best] != inverted
    weights = weights * jnp.exp(alpha * missed)
    return weights / weights.sum(), scores.at[best].add(jnp.where(inverted, -alpha, alpha))


@jax.jit
def accuracy(scores, X, Y):
    return jnp.mean((X @ scores > 0.5 * scores.sum()) == Y)


def fit(rounds):
    X, Y, features = preprocess(make_sentences(np.random.default_rng(0)))
    split = int(0.9 * len(Y))
    print(f"0 rounds, {len(features)} features, {split} entries to train", flush=True)
    wrong, X_test, Y_test = jnp.asarray(X[:split] != Y[:split, None]), jnp.asarray(X[split:]), jnp.asarray(Y[split:])
    weights, scores = jnp.ones(split) / split, jnp.zeros(X.shape[1])
    for number in range(1, rounds + 1):
        weights, scores = boost(weights, scores, wrong)
        if number % EVERY == 0:
            print(f"{number} rounds, test accuracy {float(accuracy(scores, X_test, Y_test)):.4f}", flush=True)


fit(int(os.environ.get("STEPS", 160)))
