"""Self-supervised pretraining (SimSiam) on a folder of orchid photographs."""
import argparse
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image, ImageFilter
from tensorflow import keras
from tensorflow.keras import layers

BATCH, SIDE, STEPS = 16, 64, 8


def make_photos(root, count=192):
    rng = np.random.default_rng(3)
    for species in ("cattleya", "dendrobium", "vanda"):
        os.makedirs(os.path.join(root, species))
        for i in range(count // 3):
            coarse = rng.integers(0, 255, (9, 12, 3), dtype=np.uint8)
            photo = Image.fromarray(coarse).resize((192, 144), Image.BICUBIC).filter(ImageFilter.GaussianBlur(1))
            photo.save(os.path.join(root, species, f"{i:04d}.jpg"), quality=88)


@tf.function
def random_view(encoded):
    shape = tf.image.extract_jpeg_shape(encoded)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape, tf.zeros((0, 0, 4)), area_range=(0.2, 1.0), aspect_ratio_range=(0.75, 1.33), max_attempts=10,
        use_image_if_no_bounding_boxes=True, min_object_covered=0.0,
    )
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    crop = tf.image.decode_and_crop_jpeg(encoded, window, channels=3)
    crop = tf.image.resize(crop, (SIDE, SIDE))
    crop = tf.image.random_flip_left_right(crop)
    crop.set_shape((SIDE, SIDE, 3))
    return crop


def pipeline(root):
    files = tf.data.Dataset.list_files(os.path.join(root, "*", "*.jpg"), seed=1)
    encoded = files.map(tf.io.read_file, num_parallel_calls=tf.data.AUTOTUNE).cache()
    views = encoded.shuffle(192).repeat().map(
        lambda photo: (random_view(photo), random_view(photo)),
        num_parallel_calls=tf.data.AUTOTUNE, deterministic=False,
    )
    return views.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def residual(x, width, stride):
    short = layers.Conv2D(width, 1, strides=stride, use_bias=False)(x) if stride > 1 else x
    x = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
    return layers.ReLU()(layers.Add()([layers.BatchNormalization()(x), short]))


def make_encoder():
    inputs = keras.Input((SIDE, SIDE, 3))
    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = layers.RandomBrightness(0.3, value_range=(-1, 1))(x)
    x = layers.Conv2D(32, 5, strides=2, padding="same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for width, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        x = residual(x, width, stride)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(256, use_bias=False)(x)))
    return keras.Model(inputs, layers.BatchNormalization()(layers.Dense(256, use_bias=False)(x)), name="encoder")


def make_predictor():
    return keras.Sequential(
        [keras.Input((256,)), layers.Dense(64, use_bias=False), layers.BatchNormalization(), layers.ReLU(),
         layers.Dense(256)], name="predictor")


def similarity(p, z):
    p, z = tf.math.l2_normalize(p, axis=1), tf.math.l2_normalize(tf.stop_gradient(z), axis=1)
    return -tf.reduce_mean(tf.reduce_sum(p * z, axis=1))


class SimSiam(keras.Model):
    def __init__(self, encoder, predictor):
        super().__init__()
        self.encoder, self.predictor = encoder, predictor
        self.loss_tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.loss_tracker]

    def train_step(self, views):
        first, second = views
        with tf.GradientTape() as tape:
            z1, z2 = self.encoder(first, training=True), self.encoder(second, training=True)
            p1, p2 = self.predictor(z1, training=True), self.predictor(z2, training=True)
            loss = 0.5 * similarity(p1, z2) + 0.5 * similarity(p2, z1)
        variables = self.encoder.trainable_variables + self.predictor.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(7)
    root = tempfile.mkdtemp(prefix="orchids")
    try:
        make_photos(root)
        model = SimSiam(make_encoder(), make_predictor())
        schedule = keras.optimizers.schedules.CosineDecay(0.03, decay_steps=5000)
        model.compile(optimizer=keras.optimizers.SGD(schedule, momentum=0.9))
        board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=2)
        views = pipeline(root)
        model.fit(views, steps_per_epoch=STEPS, epochs=1, verbose=2)  # watch the loss before anything is written
        model.fit(views, steps_per_epoch=STEPS, initial_epoch=1, epochs=3, callbacks=[board], verbose=2)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
