"""Learns which potsherds come from the same vessel, from drawings of their profiles (contrastive pairs)."""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LOGDIR = sys.argv[1]
FAULT = "--fault" in sys.argv[2:]

SIZE = 64
VESSELS = 24
PER_VESSEL = 6
BATCH = 32
PAIRS = 48
WARMUP, RECORD = 8, 12


def write_drawings(path, rng):
    """One JSON object a sherd, as the excavation's database exports it."""
    t = np.linspace(-1, 1, SIZE)
    with path.open("w") as out:
        for vessel in range(VESSELS):
            curve = np.polynomial.Polynomial(rng.normal(0, 0.35, 5))
            for part in range(PER_VESSEL):
                x = curve(t * rng.uniform(0.6, 1.0) + rng.normal(0, 0.05))
                drawing = np.exp(-((t[None, :] - x[:, None]) ** 2) / 0.02) + rng.normal(0, 0.05, (SIZE, SIZE))
                record = {"vessel": vessel, "part": part, "drawing": drawing.round(3).tolist()}
                out.write(json.dumps(record) + "\n")


def load(path):
    with path.open() as lines:
        records = [json.loads(line) for line in lines]
    vessels = np.array([r["vessel"] for r in records])
    drawings = [r["drawing"] for r in records]
    return (drawings if FAULT else np.asarray(drawings, np.float32)), vessels


def draw_batch(drawings, vessels, rng):
    rows = rng.choice(len(vessels), BATCH, replace=False)
    labels = vessels[rows]
    first, second = np.triu_indices(BATCH, 1)
    same = labels[first] == labels[second]
    positive, negative = np.flatnonzero(same), np.flatnonzero(~same)
    half = PAIRS // 2
    chosen = np.concatenate([rng.choice(positive, half), rng.choice(negative, half, replace=False)])
    pairs = np.stack([first[chosen], second[chosen]], 1).astype(np.int32)
    if FAULT:
        pictures = tf.convert_to_tensor([drawings[r] for r in rows], tf.float32)
    else:
        pictures = tf.convert_to_tensor(drawings[rows])
    return pictures[..., None], tf.constant(pairs), tf.constant(same[chosen].astype(np.float32))


def residual(x, filters, stride):
    y = layers.Conv2D(filters, 3, stride, "same", activation="relu")(x)
    y = layers.Conv2D(filters, 3, padding="same")(y)
    y = layers.GroupNormalization(8)(y)
    x = layers.Conv2D(filters, 1, stride)(x) if stride > 1 else x
    return layers.ReLU()(layers.Add()([x, y]))


def build_encoder():
    inputs = keras.Input((SIZE, SIZE, 1))
    x = layers.Conv2D(16, 5, 2, "same", activation="relu")(inputs)
    for filters, stride in ((16, 1), (32, 2), (32, 1), (64, 2)):
        x = residual(x, filters, stride)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(64)(x)
    return keras.Model(inputs, layers.UnitNormalization()(x))


encoder = build_encoder()
optimizer = keras.optimizers.AdamW(1e-3, weight_decay=1e-4)


@tf.function
def train_step(pictures, pairs, same):
    with tf.GradientTape() as tape:
        if FAULT:
            left = encoder(tf.gather(pictures, pairs[:, 0]), training=True)
            right = encoder(tf.gather(pictures, pairs[:, 1]), training=True)
        else:
            codes = encoder(pictures, training=True)
            left, right = tf.gather(codes, pairs[:, 0]), tf.gather(codes, pairs[:, 1])
        distance = tf.sqrt(tf.reduce_sum((left - right) ** 2, -1) + 1e-9)
        loss = tf.reduce_mean(same * distance**2 + (1 - same) * tf.nn.relu(0.8 - distance) ** 2)
    gradients = tape.gradient(loss, encoder.trainable_variables)
    optimizer.apply_gradients(zip(gradients, encoder.trainable_variables))
    return loss


def main():
    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(3)
    folder = Path(tempfile.mkdtemp(prefix="sherds_"))
    try:
        write_drawings(folder / "profiles.jsonl", rng)
        drawings, vessels = load(folder / "profiles.jsonl")
    finally:
        shutil.rmtree(folder)

    for _ in range(WARMUP):
        loss = train_step(*draw_batch(drawings, vessels, rng))
    print("after warm-up", float(loss))
    with tf.profiler.experimental.Profile(LOGDIR):
        for step in range(RECORD):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                loss = train_step(*draw_batch(drawings, vessels, rng))
        last = float(loss)
    print("contrastive loss", last)


if __name__ == "__main__":
    main()
