import os
import tempfile
import time

import keras
import numpy as np
import tensorflow as tf

MOLECULES, FEATURES, TASKS = 300, 1024, 12


class MultitaskClassifier:
    """Fully connected layers shared by the tasks, and a logit for each task."""

    def __init__(self, n_tasks, n_features, layer_sizes, batch_size=100, model_dir=None):
        self.batch_size, self.n_tasks = batch_size, n_tasks
        layers = [keras.layers.Input((n_features,))]
        for units in layer_sizes:
            layers += [keras.layers.Dense(units, activation="relu"), keras.layers.Dropout(0.25)]
        self.model = keras.Sequential(layers + [keras.layers.Dense(n_tasks)])
        self.optimizer = keras.optimizers.Adam(3e-4)
        self.optimizer.build(self.model.trainable_variables)
        self.model_dir = model_dir or tempfile.mkdtemp()
        self.checkpoint = tf.train.Checkpoint(model=self.model, optimizer=self.optimizer)

    @tf.function
    def train_step(self, X, y, w):
        with tf.GradientTape() as tape:
            logits = self.model(X, training=True)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
            loss = tf.reduce_sum(w * losses) / tf.reduce_sum(w)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def fit(self, dataset, nb_epoch=10, max_checkpoints_to_keep=3):
        X, y, w = dataset
        rng, began = np.random.default_rng(1), time.time()
        manager = tf.train.CheckpointManager(self.checkpoint, self.model_dir, max_checkpoints_to_keep)
        for epoch in range(nb_epoch):
            order, total, batches = rng.permutation(len(X)), 0.0, 0
            for start in range(0, len(X), self.batch_size):
                ids = order[start : start + self.batch_size]
                total += float(self.train_step(X[ids], y[ids], w[ids]))
                batches += 1
            manager.save()
            if epoch % 5 == 0:
                seconds = time.time() - began
                print(f"Ending epoch {epoch}: Average loss {total / batches:.4f}, {seconds:.1f} s", flush=True)

    def predict(self, X):
        return tf.sigmoid(self.model(X)).numpy()


def roc_auc(y, scores):
    ranks = np.argsort(np.argsort(scores)) + 1
    positives = y.sum()
    return (ranks[y > 0].sum() - positives * (positives + 1) / 2) / (positives * (len(y) - positives))


def load_tox(rng):
    """Fingerprints of molecules, whether they are toxic in each assay, and which assays were made."""
    X = (rng.uniform(size=(MOLECULES, FEATURES)) < 0.05).astype("float32")
    toxic = X[:, :60] @ rng.normal(size=(60, TASKS)) + 0.3 * rng.normal(size=(MOLECULES, TASKS))
    y = (toxic > 1).astype("float32")
    w = (rng.uniform(size=y.shape) < 0.8).astype("float32")
    return X, y, w


keras.utils.set_random_seed(0)
X, y, w = load_tox(np.random.default_rng(0))
train = slice(0, 200)
model = MultitaskClassifier(TASKS, FEATURES, [1500, 1000])
model.fit((X[train], y[train], w[train]), nb_epoch=int(os.environ.get("STEPS", 110)))
scores = model.predict(X[200:])
print("mean ROC AUC", np.mean([roc_auc(y[200:, task], scores[:, task]) for task in range(TASKS)]))
