import os

import jax.numpy as jnp
import numpy as np
from jax import device_put, jit

EPS = np.finfo(float).eps
ALPHABET, SENTENCES, LENGTH, KEPT = 60, 110, 24, 500


def make_entries(rng):
    likes = rng.normal(size=(ALPHABET, ALPHABET)) + rng.normal(size=ALPHABET)
    entries = []
    for _ in range(SENTENCES):
        text = np.minimum(rng.zipf(1.4, LENGTH) - 1, ALPHABET - 1)
        for i in range(3, LENGTH - 3):
            marks = {f"UW{n + 4}:{text[i + n]}" for n in range(-3, 3)}
            marks |= {f"BW{n + 2}:{text[i + n]},{text[i + n + 1]}" for n in range(-2, 1)}
            entries.append((likes[text[i - 1], text[i]] + 0.3 * rng.normal() > 0.4, marks))
    return entries


def preprocess(entries):
    counts = {}
    for _, marks in entries:
        for mark in marks:
            counts[mark] = counts.get(mark, 0) + 1
    features = sorted(counts, key=lambda mark: -counts[mark])[:KEPT]
    columns = {mark: j for j, mark in enumerate(features)}
    X = np.zeros((len(entries), len(features) + 1), bool)
    X[:, -1] = True
    for row, (_, marks) in zip(X, entries):
        row[[columns[mark] for mark in marks if mark in columns]] = True
    return X, np.array([label for label, _ in entries]), features


def pred(phis, X):
    alphas = jnp.array(list(phis.values()))
    return jnp.dot(2 * X[:, jnp.array(list(phis.keys()))] - 1, alphas) > 0


def fit(X_train, Y_train, X_test, Y_test, features, iters, out_span):
    X_train, Y_train, X_test, Y_test = (device_put(a) for a in (X_train, Y_train, X_test, Y_test))
    phis, buffer = {}, []
    N_train, _ = X_train.shape
    w = jnp.ones(N_train) / N_train
    YX_train = Y_train[:, None] ^ X_train

    for t in range(iters):
        res = w.dot(YX_train)
        err = 0.5 - jnp.abs(res - 0.5)
        m_best = int(err.argmin())
        pol_best = res[m_best] < 0.5
        err_min = err[m_best]
        alpha = jnp.log((1 - err_min) / (err_min + EPS))
        phis.setdefault(m_best, 0)
        phis[m_best] += alpha if pol_best else -alpha
        miss = YX_train[:, m_best]
        if not pol_best:
            miss = ~miss
        w = w * jnp.exp(alpha * miss)
        w = w / w.sum()
        buffer.append((features[m_best] if m_best < len(features) else "BIAS", float(alpha)))
        if (t + 1) % out_span == 0:
            accuracy = [float(jnp.mean(jit(pred)(phis, X) == Y)) for X, Y in ((X_train, Y_train), (X_test, Y_test))]
            print(t + 1, len(phis), buffer[-1], accuracy, flush=True)
            buffer.clear()
    return phis


rng = np.random.default_rng(0)
X, Y, features = preprocess(make_entries(rng))
split = len(X) * 9 // 10
fit(X[:split], Y[:split], X[split:], Y[split:], features, int(os.environ.get("STEPS", 7000)), out_span=1000)
