"""Cloud cover in oktas and cloud genus from all-sky camera frames, with Keras on JAX."""
import os

os.environ["KERAS_BACKEND"] = "jax"

import argparse

import keras
import numpy as np

SIZE, GENERA, FRAMES, BATCH = 48, 10, 624, 24


def frames(seed=6):
    rng = np.random.default_rng(seed)
    genus = rng.integers(0, GENERA, FRAMES).astype("int32")
    cover = rng.integers(0, 9, FRAMES).astype("float32")
    coarse = rng.random((FRAMES, 8, 8)) < (cover / 8)[:, None, None]
    cloud = coarse.repeat(SIZE // 8, axis=1).repeat(SIZE // 8, axis=2)
    sky = np.stack([80 + 150 * cloud, 120 + 110 * cloud, 210 + 20 * cloud], axis=-1)
    sky = sky - 4 * genus[:, None, None, None] + rng.normal(0, 6, sky.shape)
    return np.clip(sky, 0, 255).astype("uint8"), genus, cover / 8


class Frames(keras.utils.PyDataset):
    """Batches of frames, scaled and turned by quarter turns (the camera looks at the zenith)."""

    def __init__(self, pictures, genus, cover, **kwargs):
        super().__init__(**kwargs)
        self.pictures, self.genus, self.cover = pictures, genus, cover
        self.rng = np.random.default_rng(1)
        self.order = self.rng.permutation(len(genus))

    def __len__(self):
        return len(self.genus) // BATCH

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        x = np.rot90(self.pictures[rows], self.rng.integers(4), axes=(1, 2))
        return np.ascontiguousarray(x), {"genus": self.genus[rows], "cover": self.cover[rows, None]}

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.genus))


def stage(x, width):
    shortcut = keras.layers.Conv2D(width, 1, strides=2)(x)
    h = keras.layers.Conv2D(width, 3, strides=2, padding="same")(x)
    h = keras.layers.GroupNormalization(4)(h)
    h = keras.layers.Activation("relu")(h)
    h = keras.layers.Conv2D(width, 3, padding="same")(h)
    h = keras.layers.GroupNormalization(4)(h)
    return keras.layers.Activation("relu")(keras.layers.Add()([shortcut, h]))


def build():
    inputs = keras.Input((SIZE, SIZE, 3))
    x = keras.layers.Rescaling(1 / 255)(inputs)
    x = keras.layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    for width in (32, 64, 96):
        x = stage(x, width)
    x = keras.layers.GlobalAveragePooling2D()(x)
    genus = keras.layers.Dense(GENERA, activation="softmax", name="genus")(x)
    cover = keras.layers.Dense(1, activation="sigmoid", name="cover")(x)
    return keras.Model(inputs, {"genus": genus, "cover": cover})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    keras.utils.set_random_seed(3)
    model = build()
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-3),
        loss={"genus": "sparse_categorical_crossentropy", "cover": "mean_absolute_error"},
        loss_weights={"genus": 1.0, "cover": 2.0},
    )
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))
    model.fit(Frames(*frames()), epochs=1, callbacks=[board, keras.callbacks.TerminateOnNaN()], verbose=0)
    print("done after", int(model.optimizer.iterations), "batches")


if __name__ == "__main__":
    main()
