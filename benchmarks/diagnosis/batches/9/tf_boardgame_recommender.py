"""Two-tower retrieval of board games from play logs."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

PLAYERS, GAMES, DIM, BATCH = 400_000, 30_000, 32, 768
RECENT, TAGS = 12, 48


def play_log(rng, count):
    game = np.minimum(rng.zipf(1.3, count) - 1, GAMES - 1).astype(np.int32)
    return {
        "player": rng.integers(0, PLAYERS, count).astype(np.int32),
        "recent": np.minimum(rng.zipf(1.3, (count, RECENT)) - 1, GAMES - 1).astype(np.int32),
        "game": game,
        "tags": rng.random((count, TAGS)).astype(np.float32),
    }


def tower(width):
    return keras.Sequential(
        [
            layers.Dense(width, activation="gelu"),
            layers.Dense(width, activation="gelu"),
            layers.Dense(64),
            layers.UnitNormalization(),
        ]
    )


def embedding(rows, name, whole):
    l2 = keras.regularizers.L2(1e-6)
    where = {"embeddings_regularizer": l2} if whole else {"activity_regularizer": l2}
    return layers.Embedding(rows, DIM, name=name, **where)


class Retrieval(keras.Model):
    def __init__(self, whole):
        super().__init__()
        self.player = embedding(PLAYERS, "player", whole)
        self.game = embedding(GAMES, "game", whole)
        self.query_tower, self.game_tower = tower(512), tower(512)
        self.temperature = 0.07

    def call(self, inputs):
        recent = tf.reduce_mean(self.game(inputs["recent"]), 1)
        query = self.query_tower(tf.concat([self.player(inputs["player"]), recent], -1))
        item = self.game_tower(tf.concat([self.game(inputs["game"]), inputs["tags"]], -1))
        return tf.matmul(query, item, transpose_b=True) / self.temperature


def in_batch_softmax(target, logits):
    target = tf.reshape(tf.cast(target, tf.int32), [-1])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(1)
    log = play_log(np.random.default_rng(0), 60_000)
    target = np.arange(BATCH, dtype=np.int32)
    ds = (
        tf.data.Dataset.from_tensor_slices(log)
        .shuffle(60_000)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .map(lambda batch: (batch, target))
        .prefetch(tf.data.AUTOTUNE)
    )

    model = Retrieval(whole=args.fault)
    model.compile(
        optimizer=keras.optimizers.SGD(0.05),
        loss=in_batch_softmax,
        metrics=[keras.metrics.SparseTopKCategoricalAccuracy(10, name="hit10")],
    )
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(8, 18))
    history = model.fit(ds, epochs=1, steps_per_epoch=24, callbacks=[board], verbose=0)
    print({name: round(values[-1], 4) for name, values in history.history.items()})


if __name__ == "__main__":
    main()
