"""Learns votes with Keras fit; a callback predicts for the districts after each batch and sorts them, or after an epoch."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 128
STEPS = 14


class Standings(tf.keras.callbacks.Callback):
    """Predicts for some districts and keeps the order."""

    def __init__(self, districts, every_batch):
        super().__init__()
        self.districts = districts
        self.every_batch = every_batch

    def predict(self):
        scores = self.model.predict(self.districts, batch_size=64, verbose=0)[:, 0]
        self.order = sorted(range(len(scores)), key=lambda one: -scores[one])

    def on_train_batch_end(self, batch, logs=None):
        if self.every_batch:
            self.predict()

    def on_epoch_end(self, epoch, logs=None):
        self.predict()


def main(logdir, faulty):
    random = np.random.default_rng(63)
    people, votes = random.random((BATCH * 10, 120), np.float32), random.integers(0, 2, BATCH * 10)
    model = tf.keras.Sequential(
        [tf.keras.Input([120]), *(tf.keras.layers.Dense(512, "relu") for _ in range(3)), tf.keras.layers.Dense(1)]
    )
    loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(1e-3), loss, jit_compile=False)
    standings = Standings(random.random((128, 120), np.float32), every_batch=faulty)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(9, 8 + STEPS), write_graph=False)
    dataset = tf.data.Dataset.from_tensor_slices((people, votes)).batch(BATCH).cache().repeat().prefetch(2)
    model.fit(dataset, steps_per_epoch=12 + STEPS, verbose=0, callbacks=[standings, profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
