import os
import tempfile

import keras
import numpy as np
import tensorflow as tf

SIZE, PLANES, BATCH = 9, 4, 64
FILTER_AMOUNT, SHUFFLE_BUFFER = 0.05, 2000


def write_games(folder, files=4, positions=4000):
    rng = np.random.default_rng(0)
    paths = []
    for number in range(files):
        paths.append(os.path.join(folder, f"games{number}.tfrecord"))
        with tf.io.TFRecordWriter(paths[-1]) as writer:
            for _ in range(positions):
                board = rng.integers(0, 2, (SIZE, SIZE, PLANES)).astype("uint8")
                outcome = np.sign(board[:, :, 0].sum() - board[:, :, 1].sum())
                feature = {
                    "x": tf.train.Feature(bytes_list=tf.train.BytesList(value=[board.tobytes()])),
                    "move": tf.train.Feature(int64_list=tf.train.Int64List(value=[rng.integers(SIZE * SIZE)])),
                    "outcome": tf.train.Feature(float_list=tf.train.FloatList(value=[outcome])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return paths


def parse(records):
    features = {
        "x": tf.io.FixedLenFeature([], tf.string),
        "move": tf.io.FixedLenFeature([], tf.int64),
        "outcome": tf.io.FixedLenFeature([], tf.float32),
    }
    parsed = tf.io.parse_example(records, features)
    x = tf.reshape(tf.io.decode_raw(parsed["x"], tf.uint8), (BATCH, SIZE, SIZE, PLANES))
    return tf.cast(x, tf.float32), (parsed["move"], parsed["outcome"])


def get_input(paths):
    """A small part of all positions, so that those of one game are far apart."""
    dataset = tf.data.TFRecordDataset(paths, buffer_size=8 << 20).repeat()
    dataset = dataset.filter(lambda _: tf.random.uniform([]) < FILTER_AMOUNT)
    dataset = dataset.shuffle(SHUFFLE_BUFFER)
    return dataset.batch(BATCH, drop_remainder=True).map(parse).prefetch(tf.data.AUTOTUNE)


def make_model():
    board = keras.layers.Input((SIZE, SIZE, PLANES))
    x = keras.layers.Conv2D(16, 3, padding="same", activation="relu")(board)
    x = keras.layers.Flatten()(keras.layers.Conv2D(4, 1, activation="relu")(x))
    model = keras.Model(board, [keras.layers.Dense(SIZE * SIZE)(x), keras.layers.Dense(1, activation="tanh")(x)])
    losses = [keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras.losses.MeanSquaredError()]
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), losses)
    return model


def main(steps):
    keras.utils.set_random_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        dataset = get_input(write_games(folder))
        model = make_model()
        model.fit(dataset, steps_per_epoch=max(1, steps // 10), epochs=10, verbose=2)


main(int(os.environ.get("STEPS", 400)))
