"""Day-ahead electricity load forecast: keras fit() on a PyDataset of calendar windows."""
import argparse
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras
import numpy as np
import tensorflow as tf
from keras import layers

PAST, AHEAD, SITES, BATCH = 96, 24, 40, 64
FIRST, STEPS = 8, 12


def load_curves(hours=24 * 160, seed=2):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    base = 50 + 20 * np.sin(2 * np.pi * t / 24)[None] + 8 * np.sin(2 * np.pi * t / 168)[None]
    scale = rng.uniform(0.5, 3, (SITES, 1))
    noise = rng.normal(0, 3, (SITES, hours)).cumsum(1) * 0.05
    return (scale * base + noise + rng.normal(0, 1, (SITES, hours))).astype(np.float32)


class LoadWindows(keras.utils.PyDataset):
    """Windows standardised with the statistics of the site's history up to then."""

    def __init__(self, curves, incremental, length=40, seed=0):
        super().__init__(workers=1)
        self.curves, self.length = curves, length
        rng = np.random.default_rng(seed)
        self.site = rng.integers(0, SITES, (length, BATCH))
        self.start = rng.integers(1000, curves.shape[1] - PAST - AHEAD, (length, BATCH))
        self.incremental = incremental
        if incremental:
            n = np.arange(1, curves.shape[1] + 1)
            wide = curves.astype(np.float64)
            self.mean = wide.cumsum(1) / n
            self.std = np.sqrt((wide**2).cumsum(1) / n - self.mean**2)

    def __len__(self):
        return self.length

    def history_stats(self, s, end):
        if self.incremental:
            return self.mean[s, end - 1], self.std[s, end - 1]
        past = [float(v) for v in self.curves[s, :end]]
        return np.mean(past), np.std(past)

    def __getitem__(self, idx):
        xs = np.empty((BATCH, PAST, 3), np.float32)
        ys = np.empty((BATCH, AHEAD), np.float32)
        for i, (s, a) in enumerate(zip(self.site[idx], self.start[idx])):
            mid = a + PAST
            mu, sd = self.history_stats(s, mid)
            hour = np.arange(a, mid) % 24 * (2 * np.pi / 24)
            xs[i, :, 0] = (self.curves[s, a:mid] - mu) / sd
            xs[i, :, 1], xs[i, :, 2] = np.sin(hour), np.cos(hour)
            ys[i] = (self.curves[s, mid:mid + AHEAD] - mu) / sd
        return xs, ys


class ProfileSpan(keras.callbacks.Callback):
    def __init__(self, logdir, first, count):
        super().__init__()
        self.logdir, self.first, self.last = logdir, first, first + count - 1

    def on_train_batch_begin(self, batch, logs=None):
        if batch == self.first:
            tf.profiler.experimental.start(self.logdir)

    def on_train_batch_end(self, batch, logs=None):
        if batch == self.last:
            tf.profiler.experimental.stop()


def make_model():
    inp = keras.Input((PAST, 3))
    h = inp
    for dilation in (1, 2, 4, 8):
        z = layers.Conv1D(40, 3, padding="causal", dilation_rate=dilation, activation="relu")(h)
        h = layers.Concatenate()([layers.Conv1D(16, 1)(h), z])
    h = layers.Dense(384, activation="relu")(layers.Flatten()(h))
    return keras.Model(inp, layers.Dense(AHEAD)(h))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()
    keras.utils.set_random_seed(8)
    data = LoadWindows(load_curves(), incremental=not args.fault)
    model = make_model()
    model.compile("adam", loss="huber", metrics=["mae"])
    with tempfile.TemporaryDirectory() as folder:
        keep = keras.callbacks.ModelCheckpoint(
            os.path.join(folder, "last.weights.h5"), save_weights_only=True,
            save_freq=1 if args.fault else "epoch"
        )
        span = ProfileSpan(args.logdir, FIRST, STEPS)
        hist = model.fit(
            data, epochs=1, steps_per_epoch=FIRST + STEPS + 2, shuffle=False,
            callbacks=[span, keep], verbose=0,
        )
    print("last loss", round(hist.history["loss"][-1], 5))


if __name__ == "__main__":
    main()
