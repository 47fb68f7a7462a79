"""Embeddings of instrument clips with a batch-hard triplet loss."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MELS, FRAMES, INSTRUMENTS, PLAYERS, CLIPS = 48, 64, 40, 12, 8  # PLAYERS x CLIPS rows in a batch


def make_clips(rng, count):
    instrument = rng.integers(0, INSTRUMENTS, count)
    partials = rng.random((INSTRUMENTS, MELS)).astype(np.float32) ** 3
    attack = rng.uniform(1, 8, (INSTRUMENTS, 1)).astype(np.float32)
    time = np.linspace(0, 1, FRAMES, dtype=np.float32)
    envelope = np.exp(-attack[instrument] * time)
    clips = partials[instrument][:, :, None] * envelope[:, None, :]
    clips += rng.normal(0, 0.05, clips.shape).astype(np.float32)
    return clips[..., None], instrument.astype(np.int32)


class InstrumentBatches(keras.utils.PyDataset):
    """Draws a few instruments and a few clips of each, so that every row has a positive."""

    def __init__(self, clips, instrument, steps, **kwargs):
        super().__init__(**kwargs)
        self.clips, self.steps = clips, steps
        self.rows = [np.flatnonzero(instrument == i) for i in range(INSTRUMENTS)]

    def __len__(self):
        return self.steps

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        chosen = rng.choice(INSTRUMENTS, PLAYERS, replace=False)
        rows = np.concatenate([rng.choice(self.rows[i], CLIPS, replace=False) for i in chosen])
        return self.clips[rows], np.repeat(chosen, CLIPS).astype(np.int32)


class BatchHardTriplet(keras.losses.Loss):
    def __init__(self, margin=0.2, **kwargs):
        super().__init__(**kwargs)
        self.margin = margin

    def call(self, labels, embeddings):
        labels = tf.reshape(labels, [-1])
        distance = 2.0 - 2.0 * tf.matmul(embeddings, embeddings, transpose_b=True)
        same = tf.equal(labels[:, None], labels[None, :])
        farthest = tf.reduce_max(tf.where(same, distance, 0.0), 1)
        nearest = tf.reduce_min(tf.where(same, 10.0, distance), 1)
        return tf.nn.softplus(farthest - nearest + self.margin)


class Spread(keras.metrics.Mean):
    """Mean cosine of all pairs in the batch."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        centre = tf.reduce_mean(y_pred, 0)
        return super().update_state(tf.reduce_sum(tf.square(centre)))


def make_model():
    inputs = keras.Input((MELS, FRAMES, 1))
    x = inputs
    for filters in (16, 32, 64, 96):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(64)(x)
    return keras.Model(inputs, layers.UnitNormalization()(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    keras.utils.set_random_seed(2)
    clips, instrument = make_clips(np.random.default_rng(0), 2400)
    batches = InstrumentBatches(clips, instrument, steps=26, workers=1, max_queue_size=8)

    model = make_model()
    model.compile(keras.optimizers.AdamW(1e-3), BatchHardTriplet(), metrics=[Spread(name="spread")])
    model.fit(
        batches,
        epochs=1,
        callbacks=[keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=(10, 20))],
        verbose=0,
    )
    print(model.evaluate(InstrumentBatches(clips, instrument, steps=3), verbose=0))


if __name__ == "__main__":
    main()
