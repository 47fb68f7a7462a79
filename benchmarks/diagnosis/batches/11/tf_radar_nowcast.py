"""Rain radar nowcasting: a ConvLSTM encoder and forecaster, trained with a hand-written loop."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FIELD, SIZE, PAST, FUTURE, BATCH = 160, 64, 6, 4, 4
LOG_EVERY = 50


def radar_archive(rng, frames=240):
    yy, xx = np.mgrid[0:FIELD, 0:FIELD].astype(np.float32)
    archive = np.zeros((frames, FIELD, FIELD), np.float32)
    for _ in range(14):
        x, y, r = rng.uniform(0, FIELD, 2).tolist() + [rng.uniform(6, 18)]
        u, v = rng.normal(0.6, 0.4, 2)
        for k in range(frames):
            dx = (xx - x - u * k + FIELD / 2) % FIELD - FIELD / 2
            dy = (yy - y - v * k + FIELD / 2) % FIELD - FIELD / 2
            archive[k] += 40 * np.exp(-(dx**2 + dy**2) / (2 * r * r))
    return np.clip(archive, 0, 60).astype(np.float16)


def dataset(archive):
    archive = tf.constant(archive)
    length = PAST + FUTURE

    def window(start):
        y, x = tf.unstack(tf.random.uniform([2], 0, FIELD - SIZE, tf.int32))
        clip = archive[start : start + length, y : y + SIZE, x : x + SIZE]
        clip = tf.cast(clip, tf.float32)[..., None] / 60.0
        return clip[:PAST], clip[PAST:]

    starts = tf.data.Dataset.range(archive.shape[0] - length, output_type=tf.int32)
    return (
        starts.shuffle(256)
        .repeat()
        .map(window, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH, drop_remainder=True)
        .prefetch(2)
    )


def nowcaster():
    past = keras.Input((PAST, SIZE, SIZE, 1))
    x = layers.TimeDistributed(layers.Conv2D(12, 5, strides=2, padding="same", activation="relu"))(past)
    _, h1, c1 = layers.ConvLSTM2D(12, 3, padding="same", return_sequences=True, return_state=True)(x)
    seed = keras.ops.repeat(keras.ops.expand_dims(h1, 1), FUTURE, axis=1)
    y = layers.ConvLSTM2D(12, 3, padding="same", return_sequences=True)(seed, initial_state=[h1, c1])
    y = layers.TimeDistributed(layers.Conv2DTranspose(12, 4, strides=2, padding="same", activation="relu"))(y)
    rate = layers.TimeDistributed(layers.Conv2D(1, 3, padding="same", activation="softplus"))(y)
    return keras.Model(past, rate, name="nowcaster")


def rain_loss(truth, rate):
    weight = 1.0 + 4.0 * tf.cast(truth > 0.15, tf.float32) + 10.0 * tf.cast(truth > 0.4, tf.float32)
    error = rate - truth
    return tf.reduce_mean(weight * (tf.square(error) + 0.5 * tf.abs(error)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(6)
    batches = iter(dataset(radar_archive(np.random.default_rng(6))))
    model = nowcaster()
    optimizer = keras.optimizers.AdamW(8e-4, weight_decay=1e-4, use_ema=True, ema_momentum=0.999, global_clipnorm=1.0)
    optimizer.build(model.trainable_variables)
    mean_loss = keras.metrics.Mean()
    hits = keras.metrics.MeanIoU(2)

    @tf.function(reduce_retracing=True)
    def train_step(past, future):
        with tf.GradientTape() as tape:
            rate = model(past, training=True)
            loss = rain_loss(future, rate)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        mean_loss.update_state(loss)
        hits.update_state(future > 0.15, rate > 0.15)

    def train(first, last):
        for step in range(first, last):
            train_step(*next(batches))
            if (step + 1) % LOG_EVERY == 0:
                print(f"step {step + 1}: loss {mean_loss.result():.4f}  IoU {hits.result():.3f}")
                mean_loss.reset_state()
                hits.reset_state()

    train(0, 7)
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0, device_tracer_level=1)
    tf.profiler.experimental.start(args.logdir, options=options)
    train(7, 17)
    tf.profiler.experimental.stop()
    train(17, 20)


if __name__ == "__main__":
    main()
