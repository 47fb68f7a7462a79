import os
import time

import keras
import numpy as np
import tensorflow as tf

FEATURES, CANDIDATES, ACTIVE, BATCH = 30000, 6000, 40, 256


class FeatureMatrix:
    """Candidates by binary features, kept as the list of the features of each candidate."""

    def __init__(self, rows):
        self.rows, self.shape = rows, (len(rows), FEATURES)

    def toarray(self, index):
        dense = np.zeros((len(index), FEATURES), "float32")
        for i, candidate in enumerate(index):
            dense[i, self.rows[candidate]] = 1
        return dense


def featurize(rng):
    counts = rng.integers(ACTIVE // 2, 3 * ACTIVE // 2, CANDIDATES)
    rows = [np.unique(rng.zipf(1.15, n) % FEATURES) for n in counts]
    weights = rng.normal(size=FEATURES) * 0.6
    scores = np.array([weights[row].sum() for row in rows])
    marginals = 1 / (1 + np.exp(-scores + np.median(scores)))
    return FeatureMatrix(rows), marginals.astype("float32")


class LogisticRegression(keras.Model):
    def __init__(self, l2=1e-6):
        super().__init__()
        self.l2 = l2
        self.w = self.add_weight(shape=(FEATURES, 1), initializer="zeros", name="w")
        self.b = self.add_weight(shape=(1,), initializer="zeros", name="b")

    def call(self, X):
        return (tf.matmul(X, self.w) + self.b)[:, 0]

    def cost(self, X, marginals):
        losses = tf.nn.sigmoid_cross_entropy_with_logits(marginals, self(X))
        return tf.reduce_mean(losses) + self.l2 * tf.reduce_sum(tf.square(self.w))


def train(model, X, marginals, steps, rng):
    optimizer = keras.optimizers.Adam(0.01)

    @tf.function
    def train_step(features, targets):
        with tf.GradientTape() as tape:
            cost = model.cost(features, targets)
        optimizer.apply(tape.gradient(cost, model.trainable_variables), model.trainable_variables)
        return cost

    start, costs, order = time.time(), [], rng.permutation(len(marginals))
    for step in range(1, steps + 1):
        begin = (step - 1) * BATCH % (len(order) - BATCH)
        index = order[begin : begin + BATCH]
        costs.append(float(train_step(tf.constant(X.toarray(index)), tf.constant(marginals[index]))))
        if step % 50 == 0:
            print(f"step {step}, {time.time() - start:.1f} s, loss {np.mean(costs[-50:]):.4f}", flush=True)


keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
X, marginals = featurize(rng)
print(f"{X.shape[0]} candidates, {X.shape[1]} features", flush=True)
train(LogisticRegression(), X, marginals, int(os.environ.get("STEPS", 450)), rng)
