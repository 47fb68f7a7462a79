import os
import tempfile

import keras
import numpy as np
import tensorflow as tf

PATH = os.path.join(tempfile.mkdtemp(), "scenes.tfrecord")
SIZE, CROP = 1200, 96


def write_scenes(count):
    rng = np.random.default_rng(0)
    with tf.io.TFRecordWriter(PATH) as writer:
        for number in range(count):
            small = rng.integers(0, 255, (SIZE // 8, SIZE // 8, 3)).astype("uint8")
            picture = tf.io.encode_jpeg(np.kron(small, np.ones((8, 8, 1), "uint8"))).numpy()
            features = {
                "picture": tf.train.Feature(bytes_list=tf.train.BytesList(value=[picture])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number % 10])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def parse(record):
    example = tf.io.parse_single_example(
        record, {"picture": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    )
    picture = tf.io.decode_jpeg(example["picture"], channels=3)
    picture = tf.image.random_crop(picture, (CROP, CROP, 3))
    return tf.cast(picture, tf.float32) / 255.0, example["label"]


def main():
    write_scenes(20)
    batches = tf.data.TFRecordDataset(PATH).repeat().map(parse, tf.data.AUTOTUNE).batch(16).prefetch(2)
    model = keras.Sequential(
        [
            keras.layers.Input((CROP, CROP, 3)),
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(batches, steps_per_epoch=50, epochs=int(os.environ.get("STEPS", 600)) // 50, verbose=2)


main()
