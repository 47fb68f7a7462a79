"""Wave height at a surf break from three days of buoy readings (dilated convolutions and a GRU)."""
import argparse

import numpy as np
import tensorflow as tf

HOURS, CHANNELS, HORIZON = 144, 7, 24
BATCH = 64
WARMUP, RECORDED = 12, 12


def buoy_series(hours, seed=9):
    rng = np.random.default_rng(seed)
    t = np.arange(hours, dtype=np.float32)
    swell = 1.5 + np.sin(2 * np.pi * t / 160) + 0.4 * np.sin(2 * np.pi * t / 61)
    tide = np.sin(2 * np.pi * t / 12.42)
    wind = np.convolve(rng.standard_normal(hours), np.ones(12) / 12, "same")
    rest = rng.standard_normal((hours, CHANNELS - 3))
    return np.column_stack([swell + 0.1 * rng.standard_normal(hours), tide, wind, rest]).astype(np.float32)


def windows(series):
    starts = tf.data.Dataset.range(len(series) - HOURS - HORIZON)
    source = tf.constant(series)
    offsets = tf.range(HOURS + HORIZON, dtype=tf.int64)

    def cut(start):
        rows = tf.gather(source, start[:, None] + offsets[None, :])
        return rows[:, :HOURS], rows[:, HOURS:, 0]

    ds = starts.shuffle(8192, seed=1).repeat().batch(BATCH, drop_remainder=True)
    return ds.map(cut, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


class Forecaster(tf.Module):
    def __init__(self, width=64):
        super().__init__()
        keras = tf.keras
        self.stem = keras.layers.Conv1D(width, 5, padding="causal", activation="gelu")
        self.convs = [
            keras.layers.Conv1D(width, 3, padding="causal", dilation_rate=2**i, activation="gelu") for i in range(5)
        ]
        self.norms = [keras.layers.LayerNormalization() for _ in range(5)]
        self.gru = keras.layers.GRU(96)
        self.head = keras.layers.Dense(HORIZON)
        self.layers = [self.stem, *self.convs, *self.norms, self.gru, self.head]

    def __call__(self, x):
        x = self.stem(x)
        for conv, norm in zip(self.convs, self.norms):
            x = norm(x + conv(x))
        return self.head(self.gru(x))

    @property
    def weights(self):
        return [w for layer in self.layers for w in layer.trainable_weights]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args, _ = parser.parse_known_args()

    tf.keras.utils.set_random_seed(1)
    batches = iter(windows(buoy_series(12_000)))
    model = Forecaster()
    model(tf.zeros((1, HOURS, CHANNELS)))
    optimizer = tf.keras.optimizers.Adam(2e-3, global_clipnorm=1.0)
    optimizer.build(model.weights)
    running = tf.keras.metrics.Mean()

    @tf.function(
        input_signature=[
            tf.TensorSpec((BATCH, HOURS, CHANNELS), tf.float32),
            tf.TensorSpec((BATCH, HORIZON), tf.float32),
        ]
    )
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.huber(y, model(x), delta=0.5))
        grads = tape.gradient(loss, model.weights)
        optimizer.apply(grads, model.weights)
        running.update_state(loss)
        return loss

    for _ in range(WARMUP):
        train_step(*next(batches))
    print(f"warm: {running.result().numpy():.4f}")
    running.reset_state()

    tf.profiler.experimental.start(args.logdir)
    for step in range(WARMUP, WARMUP + RECORDED):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss = train_step(*next(batches))
    final = loss.numpy()
    tf.profiler.experimental.stop()
    print(f"loss {final:.4f}, mean {running.result().numpy():.4f}")


if __name__ == "__main__":
    main()
