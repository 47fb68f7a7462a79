import os

import keras
import numpy as np
import tensorflow as tf

COLUMNS = [f"column_{number}" for number in range(10)]


def rows(table, target):
    def generate():
        while True:
            for index in range(len(target)):
                yield {name: table[name][index] for name in COLUMNS}, target[index]

    return generate


def main():
    rng = np.random.default_rng(0)
    table = {name: rng.random(50_000).astype("float32") for name in COLUMNS}
    target = sum(table.values())
    spec = tf.TensorSpec((), tf.float32)
    batches = tf.data.Dataset.from_generator(
        rows(table, target), output_signature=({name: spec for name in COLUMNS}, spec)
    ).batch(256).prefetch(tf.data.AUTOTUNE)
    inputs = {name: keras.layers.Input((1,), name=name) for name in COLUMNS}
    x = keras.layers.Concatenate()(list(inputs.values()))
    x = keras.layers.Dense(64, "relu")(x)
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile("adam", "mse")
    epochs = int(os.environ.get("STEPS", 1000)) // 100
    model.fit(batches, steps_per_epoch=100, epochs=epochs, verbose=2)


main()
