import os
import tempfile

import keras
import numpy as np
import tensorflow as tf

COLUMNS, ROWS = 31, 50_000


def write_table():
    path = os.path.join(tempfile.mkdtemp(), "table.csv")
    table = np.random.default_rng(0).random((ROWS, COLUMNS))
    header = ",".join(f"c{number}" for number in range(COLUMNS))
    np.savetxt(path, table, fmt="%.5f", delimiter=",", header=header, comments="")
    return path


def make_dataset(path, batch_size):
    dataset = tf.data.TextLineDataset(path).skip(1)

    def parse_csv(line):
        columns = tf.io.decode_csv(line, record_defaults=[[0.0]] * COLUMNS)
        return tf.stack(columns[:-1]), columns[-1]

    return dataset.map(parse_csv).repeat().batch(batch_size).prefetch(1)


def main():
    dataset = make_dataset(write_table(), batch_size=256)
    model = keras.Sequential(
        [keras.layers.Input((COLUMNS - 1,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    epochs = int(os.environ.get("STEPS", 2000)) // 100
    model.fit(dataset, steps_per_epoch=100, epochs=epochs, verbose=2)


main()
