"""Forecasts the pH curve of a tanning drum from its sensors, so that the operator can dose ahead."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

PAST = 96
AHEAD = 48
SENSORS = 12
BATCH = 32


def drum_runs(runs, seed=11):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, PAST + AHEAD, dtype=np.float32)
    rate = rng.uniform(1.0, 6.0, (runs, 1)).astype(np.float32)
    start = rng.uniform(3.0, 4.0, (runs, 1)).astype(np.float32)
    ph = start + 1.4 * (1 - np.exp(-rate * t)) + 0.03 * rng.standard_normal((runs, t.size)).astype(np.float32)
    other = rng.standard_normal((runs, PAST, SENSORS - 1)).astype(np.float32).cumsum(1) * 0.05
    other[..., 0] += rate
    sensors = np.concatenate([ph[:, :PAST, None], other], axis=-1)
    return sensors, ph[:, PAST:]


def warping_distance(a, b):
    """Dynamic time warping between two curves of equal length."""
    n, m = len(a), len(b)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = abs(a[i - 1] - b[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m] / n


def _dtw_batch(y_true, y_pred):
    return np.float32(np.mean([warping_distance(t, p) for t, p in zip(y_true, y_pred)]))


def dtw(y_true, y_pred):
    value = tf.numpy_function(_dtw_batch, [y_true, y_pred], tf.float32)
    value.set_shape(())
    return value


def build():
    sensors = keras.Input((PAST, SENSORS), name="sensors")
    x = layers.Dense(128, name="embed")(sensors)
    for block, dilation in enumerate((1, 2, 4, 8)):
        y = layers.Conv1D(128, 5, padding="causal", dilation_rate=dilation, activation="relu", name=f"tcn{block}_a")(x)
        y = layers.Conv1D(128, 5, padding="causal", dilation_rate=dilation, name=f"tcn{block}_b")(y)
        x = layers.LayerNormalization(name=f"norm{block}")(x + y)
    x = layers.Concatenate()([x[:, -1], layers.GlobalAveragePooling1D()(x)])
    x = layers.Dense(192, activation="gelu", name="readout")(x)
    return keras.Model(sensors, layers.Dense(AHEAD, name="ph_ahead")(x), name="drum_tcn")


def make_dataset(sensors, ph):
    data = tf.data.Dataset.from_tensor_slices((sensors, ph)).cache()
    return data.shuffle(len(ph), seed=1).batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(2)
    sensors, ph = drum_runs(384 + 64)
    train = make_dataset(sensors[:384], ph[:384])
    held_out = sensors[384:], ph[384:]

    model = build()
    metrics = [keras.metrics.MeanAbsoluteError(name="mae")]
    if args.fault:
        metrics.append(dtw)
    model.compile(optimizer=keras.optimizers.Adam(5e-4, clipnorm=1.0), loss=keras.losses.Huber(0.2), metrics=metrics)

    model.fit(train, epochs=1, verbose=2)
    # look at one ordinary batch once everything is warm
    board = keras.callbacks.TensorBoard(log_dir=args.logdir, profile_batch=2)
    model.fit(train, initial_epoch=1, epochs=2, callbacks=[board], verbose=2)

    forecast = model.predict(held_out[0][:16], verbose=0)
    print(f"held-out warping distance {_dtw_batch(held_out[1][:16], forecast):.4f}")


if __name__ == "__main__":
    main()
