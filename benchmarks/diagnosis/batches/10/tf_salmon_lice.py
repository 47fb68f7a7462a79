"""Finds sea lice on salmon in pen-camera frames: a centre heat map and a size for each louse."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

HEIGHT, WIDTH = 96, 160
STRIDE = 4
BATCH = 8
WARMUP, RECORDED = 8, 12


def pen_frames(count, seed=21):
    rng = np.random.default_rng(seed)
    frames = rng.uniform(60, 110, (count, HEIGHT, WIDTH, 3)).astype(np.uint8)
    heat = np.zeros((count, HEIGHT // STRIDE, WIDTH // STRIDE, 1), np.float32)
    size = np.zeros_like(heat)
    yy, xx = np.mgrid[0 : HEIGHT // STRIDE, 0 : WIDTH // STRIDE]
    for i in range(count):
        for _ in range(rng.integers(0, 6)):
            cy, cx = rng.integers(4, HEIGHT - 4), rng.integers(4, WIDTH - 4)
            r = rng.integers(2, 5)
            frames[i, cy - r : cy + r, cx - r : cx + r] = (90, 40, 30)
            bump = np.exp(-((yy - cy / STRIDE) ** 2 + (xx - cx / STRIDE) ** 2) / 2.0)
            heat[i, ..., 0] = np.maximum(heat[i, ..., 0], bump)
            size[i, cy // STRIDE, cx // STRIDE] = r
    return frames, heat, size


def prepare(frame, heat, size):
    frame = tf.cast(frame, tf.float32) / 127.5 - 1.0
    frame = frame * tf.random.uniform((), 0.8, 1.2)
    return frame, heat, size


def build():
    frame = keras.Input((HEIGHT, WIDTH, 3))
    x = layers.Conv2D(32, 5, strides=2, padding="same", use_bias=False)(frame)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2D(64, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for _ in range(3):
        y = layers.Conv2D(64, 3, padding="same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.Conv2D(64, 3, padding="same")(y)
        x = layers.ReLU()(x + y)
    heat = layers.Conv2D(1, 1, bias_initializer=keras.initializers.Constant(-3.0), name="heat")(x)
    size = layers.Conv2D(1, 1, name="size")(x)
    return keras.Model(frame, [heat, size])


def focal_loss(target, logits):
    p = tf.sigmoid(logits)
    positive = tf.cast(target > 0.99, tf.float32)
    gain = positive * (1 - p) ** 2 * tf.math.log_sigmoid(logits)
    gain += (1 - positive) * (1 - target) ** 4 * p**2 * tf.math.log_sigmoid(-logits)
    return -tf.reduce_sum(gain) / tf.maximum(tf.reduce_sum(positive), 1.0)


class Trainer(tf.Module):
    def __init__(self):
        super().__init__()
        self.model = build()
        self.averaged = build()
        self.averaged.set_weights(self.model.get_weights())
        self.optimizer = keras.optimizers.SGD(1e-3, momentum=0.9, nesterov=True)
        self.optimizer.build(self.model.trainable_variables)
        self.mean_loss = keras.metrics.Mean()

    @tf.function
    def step(self, frame, heat, size):
        with tf.GradientTape() as tape:
            heat_logits, size_hat = self.model(frame, training=True)
            present = tf.cast(size > 0, tf.float32)
            size_loss = tf.reduce_sum(present * tf.abs(size_hat - size)) / tf.maximum(tf.reduce_sum(present), 1.0)
            loss = focal_loss(heat, heat_logits) + 0.1 * size_loss
        gradients = tape.gradient(loss, self.model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        for slow, fast in zip(self.averaged.variables, self.model.variables):
            slow.assign(slow + 0.01 * (fast - slow))
        self.mean_loss.update_state(loss)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    args = parser.parse_args()

    keras.utils.set_random_seed(0)
    trainer = Trainer()
    batches = iter(
        tf.data.Dataset.from_tensor_slices(pen_frames(192))
        .shuffle(192)
        .repeat()
        .map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    for _ in range(WARMUP):
        trainer.step(*next(batches))
    trainer.mean_loss.reset_state()

    tf.profiler.experimental.start(args.logdir)
    for step in range(RECORDED):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            trainer.step(*next(batches))
        if (step + 1) % 6 == 0:
            print(f"step {step + 1}: loss {float(trainer.mean_loss.result()):.4f}")
            trainer.mean_loss.reset_state()
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main()
