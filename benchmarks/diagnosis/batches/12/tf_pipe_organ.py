"""Which stops of a pipe organ are drawn? Multi-label tagging of log-mel excerpts."""

import argparse
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

STOPS = 24
FRAMES, MELS = 96, 64
EXCERPTS = 1600
BATCH = 32


def excerpts(seed=8):
    rng = np.random.default_rng(seed)
    drawn = (rng.random((EXCERPTS, STOPS)) < 0.2).astype(np.float32)
    ranks = rng.normal(size=(STOPS, MELS)).astype(np.float32) ** 2
    onset = rng.random((EXCERPTS, 1, 1), dtype=np.float32) * FRAMES
    envelope = 1 / (1 + np.exp(-(np.arange(FRAMES, dtype=np.float32)[None, :, None] - onset) / 4))
    mel = np.log1p(envelope * (drawn @ ranks)[:, None, :])
    mel += 0.1 * rng.standard_normal(mel.shape, dtype=np.float32)
    return mel[..., None], drawn


def mask_bands(mel, drawn):
    """SpecAugment on whole batches: one band of frames and one of mels an excerpt."""
    n = tf.shape(mel)[0]
    t0 = tf.random.uniform((n, 1), 0, FRAMES - 12, tf.int32)
    f0 = tf.random.uniform((n, 1), 0, MELS - 8, tf.int32)
    t = tf.range(FRAMES)[None]
    f = tf.range(MELS)[None]
    keep_t = tf.cast((t < t0) | (t >= t0 + 12), tf.float32)
    keep_f = tf.cast((f < f0) | (f >= f0 + 8), tf.float32)
    return mel * keep_t[:, :, None, None] * keep_f[:, None, :, None], drawn


def datasets():
    mel, drawn = excerpts()
    cut = EXCERPTS * 9 // 10
    train = tf.data.Dataset.from_tensor_slices((mel[:cut], drawn[:cut])).shuffle(cut).batch(BATCH, drop_remainder=True)
    train = train.map(mask_bands, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    held_out = tf.data.Dataset.from_tensor_slices((mel[cut:], drawn[cut:])).batch(BATCH)
    return train, held_out


def block(x, width, stride):
    y = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
    y = layers.BatchNormalization()(y)
    y = layers.Activation("relu")(y)
    y = layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    if stride > 1 or x.shape[-1] != width:
        x = layers.Conv2D(width, 1, strides=stride, use_bias=False)(x)
    return layers.Activation("relu")(layers.Add()([x, y]))


def tagger():
    mel = keras.Input((FRAMES, MELS, 1))
    x = layers.Conv2D(16, 5, strides=2, padding="same", activation="relu")(mel)
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        x = block(x, width, stride)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.3)(x)
    return keras.Model(mel, layers.Dense(STOPS, activation="sigmoid")(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    train, held_out = datasets()
    model = tagger()
    model.compile(
        optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(1e-3, 2000)),
        loss=keras.losses.BinaryFocalCrossentropy(),
        metrics=[keras.metrics.BinaryAccuracy(), keras.metrics.F1Score(average="micro", threshold=0.5)],
    )
    with tempfile.TemporaryDirectory() as folder:
        callbacks = [
            keras.callbacks.ModelCheckpoint(f"{folder}/best.weights.h5", save_weights_only=True, save_best_only=True),
            keras.callbacks.CSVLogger(f"{folder}/log.csv"),
            keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(14, 24)),
        ]
        model.fit(train, validation_data=held_out, steps_per_epoch=32, epochs=1, callbacks=callbacks, verbose=2)


if __name__ == "__main__":
    main()
