"""Two-tower retrieval for a board game shop: players and games, in-batch softmax."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

PLAYERS, GAMES = 150_000, 40_000
WIDTH = 48
BATCH = 1024
WARMUP, RECORDED = 6, 12


def plays(count):
    rng = np.random.default_rng(31)
    return {
        "player": rng.integers(0, PLAYERS, count).astype(np.int32),
        "game": np.minimum(rng.zipf(1.2, count), GAMES - 1).astype(np.int32),
        "history": np.minimum(rng.zipf(1.2, (count, 10)), GAMES - 1).astype(np.int32),
        "price": rng.gamma(2.0, 15.0, (count, 1)).astype(np.float32),
    }


class Retrieval(keras.Model):
    def __init__(self):
        super().__init__()
        self.players = layers.Embedding(PLAYERS, WIDTH, name="players")
        self.games = layers.Embedding(GAMES, WIDTH, name="games")
        self.query = keras.Sequential([layers.Dense(512, activation="relu"), layers.Dense(256, activation="relu"), layers.Dense(64)])
        self.candidate = keras.Sequential([layers.Dense(512, activation="relu"), layers.Dense(256, activation="relu"), layers.Dense(64)])

    def call(self, batch):
        history = tf.reduce_mean(self.games(batch["history"]), axis=1)
        query = self.query(tf.concat([self.players(batch["player"]), history], axis=-1))
        candidate = self.candidate(tf.concat([self.games(batch["game"]), tf.math.log1p(batch["price"])], axis=-1))
        return tf.math.l2_normalize(query, axis=-1), tf.math.l2_normalize(candidate, axis=-1)


def main(logdir, fault):
    tf.random.set_seed(4)
    dataset = (
        tf.data.Dataset.from_tensor_slices(plays(40_000))
        .shuffle(40_000)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    batches = iter(dataset)
    model = Retrieval()
    model(next(batches))
    tables = [v for v in model.trainable_variables if "embeddings" in v.path]
    towers = [v for v in model.trainable_variables if "embeddings" not in v.path]
    if fault:
        groups = [(keras.optimizers.Adam(1e-3), tables + towers)]
    else:
        groups = [(keras.optimizers.SGD(0.3), tables), (keras.optimizers.Adam(1e-3), towers)]

    @tf.function
    def train_step(batch):
        with tf.GradientTape() as tape:
            query, candidate = model(batch)
            scores = tf.matmul(query, candidate, transpose_b=True) / 0.07
            same = tf.equal(batch["game"][:, None], batch["game"][None, :])
            accidental = tf.linalg.set_diag(same, tf.zeros([BATCH], tf.bool))
            scores = tf.where(accidental, -1e9, scores)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.range(BATCH), logits=scores)
            )
        variables = [v for _, group in groups for v in group]
        gradients = iter(tape.gradient(loss, variables))
        for optimizer, group in groups:
            optimizer.apply_gradients([(next(gradients), v) for v in group])
        return loss

    for _ in range(WARMUP):
        loss = train_step(next(batches))
    print(f"first loss {float(loss):.3f}")

    tf.profiler.experimental.start(logdir)
    for _ in range(RECORDED):
        loss = train_step(next(batches))
    last = float(loss)
    tf.profiler.experimental.stop()
    print(f"last loss {last:.3f}")


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv[2:])
