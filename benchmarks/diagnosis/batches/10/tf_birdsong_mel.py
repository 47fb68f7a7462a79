"""Bird species from one-second mel spectrogram snippets."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SPECIES = 24
FRAMES, MELS = 96, 64
BATCH = 24
STEPS = 30


def make_snippets(n, seed=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, SPECIES, n)
    t = np.linspace(0, 1, FRAMES, dtype=np.float32)[:, None]
    f = np.linspace(0, 1, MELS, dtype=np.float32)[None, :]
    x = 0.3 * rng.standard_normal((n, FRAMES, MELS)).astype(np.float32)
    for i, s in enumerate(labels):
        pitch = 0.2 + 0.6 * (s / SPECIES) + 0.1 * np.sin(2 * np.pi * (1 + s % 5) * t)
        x[i] += np.exp(-((f - pitch) ** 2) / 0.003)
    return x[..., None], labels.astype(np.int32)


def make_dataset(x, y):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    ds = ds.shuffle(len(x), seed=1).repeat().batch(BATCH, drop_remainder=True)
    return ds.prefetch(tf.data.AUTOTUNE)


def conv_block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    return layers.MaxPooling2D(2)(x)


def make_model():
    inputs = keras.Input((FRAMES, MELS, 1))
    x = inputs
    for filters in (24, 48, 64):
        x = conv_block(x, filters)
    x = layers.Reshape((FRAMES // 8, MELS // 8 * 64))(x)
    x = layers.Bidirectional(layers.GRU(128), name="calls")(x)
    x = layers.Dense(160, activation="relu", name="embed")(x)
    x = layers.Dropout(0.3)(x)
    outputs = layers.Dense(SPECIES, name="species")(x)
    return keras.Model(inputs, outputs)


class WeightNorms(keras.callbacks.Callback):
    """Keeps the norm of the kernels, to be plotted after training."""

    def __init__(self, names, order=None):
        super().__init__()
        self.names = names
        self.order = order
        self.history = {name: [] for name in names}

    def on_train_batch_end(self, batch, logs=None):
        for name in self.names:
            for w in self.model.get_layer(name).trainable_weights:
                if len(w.shape) == 2 and "bias" not in w.path:
                    self.history[name].append(float(np.linalg.norm(w.numpy(), self.order)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(11)
    train = make_dataset(*make_snippets(720))
    model = make_model()
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    norms = WeightNorms(["embed", "species"], order=2 if args.fault else None)
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))
    model.fit(train, steps_per_epoch=STEPS, epochs=1, callbacks=[board, norms], verbose=2)
    for name, values in norms.history.items():
        print(f"{name}: {values[0]:.3f} -> {values[-1]:.3f}")


if __name__ == "__main__":
    main()
