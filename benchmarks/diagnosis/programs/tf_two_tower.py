"""Learns vectors of users and films whose product predicts a rating, with Keras fit."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 256
USERS, FILMS = 20_000, 4_000
STEPS = 20


def tower(name, count):
    numbers = tf.keras.Input([], dtype="int64", name=name)
    vectors = tf.keras.layers.Embedding(count, 48)(numbers)
    for _ in range(2):
        vectors = tf.keras.layers.Dense(640, activation="relu")(vectors)
    return numbers, tf.keras.layers.Dense(64)(vectors)


def main(logdir, faulty):
    user, of_user = tower("user", USERS)
    film, of_film = tower("film", FILMS)
    model = tf.keras.Model([user, film], tf.keras.layers.Dot(1)([of_user, of_film]))
    model.compile("sgd", "mse", jit_compile=False)

    random = np.random.default_rng(4)
    examples = BATCH * 60
    users, films = random.integers(0, USERS, examples), random.integers(0, FILMS, examples)
    ratings = random.integers(1, 6, examples).astype("float32")

    def from_table():
        for user, film, rating in zip(users, films, ratings, strict=True):
            yield {"user": user, "film": film}, rating

    if faulty:
        number = tf.TensorSpec([], tf.int64)
        signature = ({"user": number, "film": number}, tf.TensorSpec([], tf.float32))
        dataset = tf.data.Dataset.from_generator(from_table, output_signature=signature)
    else:
        dataset = tf.data.Dataset.from_tensor_slices(({"user": users, "film": films}, ratings))
    dataset = dataset.batch(BATCH, drop_remainder=True).repeat().prefetch(tf.data.AUTOTUNE)

    model.fit(dataset, steps_per_epoch=5, verbose=0)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(6, 5 + STEPS), write_graph=False)
    model.fit(dataset, steps_per_epoch=8 + STEPS, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
