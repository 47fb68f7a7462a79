import os

import keras
import numpy as np
import tensorflow as tf

FEATURES = [f"feature_{number}" for number in range(12)]
LENGTH, TRAJECTORIES, BATCH = 32, 600, 64


def serialized_trajectories():
    rng = np.random.default_rng(0)
    trajectories = []
    for _ in range(TRAJECTORIES):
        lists = {
            name: tf.train.FeatureList(
                feature=[tf.train.Feature(int64_list=tf.train.Int64List(value=[int(v)])) for v in rng.integers(0, 1000, LENGTH)]
            )
            for name in [*FEATURES, "reward"]
        }
        example = tf.train.SequenceExample(feature_lists=tf.train.FeatureLists(feature_list=lists))
        trajectories.append(example.SerializeToString())
    return trajectories


def parse_trajectory(serialized):
    spec = {name: tf.io.FixedLenSequenceFeature([], tf.int64) for name in [*FEATURES, "reward"]}
    _, parsed = tf.io.parse_single_sequence_example(serialized, sequence_features=spec)
    columns = [tf.math.log1p(tf.cast(parsed[name], tf.float32)) for name in FEATURES]
    return tf.stack(columns, axis=-1), tf.cast(parsed["reward"], tf.float32) / 1000.0


def create_dataset(trajectories):
    dataset = tf.data.Dataset.from_tensor_slices(trajectories)
    dataset = dataset.map(parse_trajectory, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.shuffle(TRAJECTORIES).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)


def main():
    dataset = create_dataset(serialized_trajectories())
    model = keras.Sequential(
        [
            keras.layers.Input((LENGTH, len(FEATURES))),
            keras.layers.Dense(40, activation="relu"),
            keras.layers.Dense(1),
            keras.layers.Reshape((LENGTH,)),
        ]
    )
    model.compile("adam", "mse")
    epochs = int(os.environ.get("STEPS", 2500)) // 100
    model.fit(dataset, steps_per_epoch=100, epochs=epochs, verbose=2)


main()
