import os
import time

import keras
import numpy as np
import tensorflow as tf

SIZE, BATCH, COUNT = (128, 128), 8, 24


def make_photos(rng):
    """Portraits of 600x800 pixels as JPEG, and their masks as PNG."""
    rows, columns = np.mgrid[0:800, 0:600]
    photos, masks = [], []
    for _ in range(COUNT):
        y, x, size = rng.uniform(250, 450), rng.uniform(200, 400), rng.uniform(100, 200)
        head = ((rows - y) / 1.3) ** 2 + (columns - x) ** 2 < size**2
        mask = head | ((rows > y + size) & (abs(columns - x) < size))
        photo = np.kron(rng.integers(40, 200, (16, 12, 3)), np.ones((50, 50, 1)))
        photo = np.where(mask[..., None], rng.integers(60, 220, 3), photo) + rng.integers(-20, 20, (800, 600, 3))
        photos.append(tf.io.encode_jpeg(photo.clip(0, 255).astype("uint8")).numpy())
        masks.append(tf.io.encode_png((255 * mask[..., None]).astype("uint8")).numpy())
    return photos, masks


class DataLoader:
    def __init__(self, photos, masks, image_size, crop_percent=0.8):
        self.photos, self.masks, self.image_size, self.crop_percent = photos, masks, image_size, crop_percent

    def _parse_data(self, photo, mask):
        return tf.image.decode_jpeg(photo, channels=3), tf.image.decode_png(mask, channels=1)

    def _corrupt_brightness(self, image, mask):
        return tf.image.random_brightness(image, 0.1), mask

    def _corrupt_contrast(self, image, mask):
        return tf.image.random_contrast(image, 0.1, 0.8), mask

    def _corrupt_saturation(self, image, mask):
        return tf.image.random_saturation(image, 1, 5), mask

    def _flip_left_right(self, image, mask):
        both = tf.image.random_flip_left_right(tf.concat([image, mask], -1))
        return both[..., :3], both[..., 3:]

    def _crop_random(self, image, mask):
        size = tf.cast(self.crop_percent * tf.cast(tf.shape(image)[:2], tf.float32), tf.int32)
        both = tf.image.random_crop(tf.concat([image, mask], -1), (size[0], size[1], 4))
        return both[..., :3], both[..., 3:]

    def _resize_data(self, image, mask):
        return tf.image.resize(image, self.image_size, "nearest"), tf.image.resize(mask, self.image_size, "nearest")

    def data_batch(self, batch_size):
        data = tf.data.Dataset.from_tensor_slices((self.photos, self.masks)).repeat().shuffle(COUNT, seed=0)
        data = data.map(self._parse_data)
        data = data.map(self._corrupt_brightness).map(self._corrupt_contrast).map(self._corrupt_saturation)
        data = data.map(self._flip_left_right).map(self._crop_random).map(self._resize_data)
        data = data.map(lambda image, mask: (tf.ensure_shape(image, (*self.image_size, 3)) / 255, mask / 255))
        return data.batch(batch_size).prefetch(2)


def build_model():
    inputs = keras.Input((*SIZE, 3))
    x = skip = keras.layers.Conv2D(8, 3, 2, padding="same", activation="relu")(inputs)
    x = keras.layers.SeparableConv2D(16, 3, 2, padding="same", activation="relu")(x)
    x = keras.layers.SeparableConv2D(32, 3, padding="same", activation="relu")(x)
    x = keras.layers.Concatenate()([keras.layers.UpSampling2D(2)(x), skip])
    x = keras.layers.UpSampling2D(2)(keras.layers.Conv2D(1, 3, padding="same")(x))
    return keras.Model(inputs, keras.layers.Activation("sigmoid")(x))


keras.utils.set_random_seed(0)
loader = DataLoader(*make_photos(np.random.default_rng(0)), SIZE)
model, start, losses = build_model(), time.time(), []
model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy")
for step, (image, mask) in enumerate(loader.data_batch(BATCH).take(int(os.environ.get("STEPS", 80))), 1):
    losses.append(float(model.train_on_batch(image, mask)))
    if step % 5 == 0:
        print(f"step {step}, {time.time() - start:.1f} s, loss {np.mean(losses[-5:]):.4f}", flush=True)
