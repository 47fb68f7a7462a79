"""Names the ground stitch of bobbin lace from photographs: a new head on a network that was trained on textiles."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

GROUNDS = 14
SIDE = 96
BATCH = 24
WARM_UP, RECORDED = 7, 10


def photographs(count=384, seed=21):
    rng = np.random.default_rng(seed)
    ground = rng.integers(0, GROUNDS, count)
    yy, xx = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    pictures = np.empty((count, SIDE, SIDE, 3), np.float32)
    for picture, g in zip(pictures, ground):
        angle, period = g * np.pi / GROUNDS, 5 + g % 5
        thread = np.sin((xx * np.cos(angle) + yy * np.sin(angle)) * 2 * np.pi / period + rng.uniform(0, 6))
        thread *= np.sin((xx * np.sin(angle) - yy * np.cos(angle)) * 2 * np.pi / (period + 2))
        picture[:] = thread[..., None] + 0.3 * rng.standard_normal((SIDE, SIDE, 3), dtype=np.float32)
    return pictures, ground.astype(np.int32)


def textile_backbone():
    picture = keras.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(picture)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    for width, stride in ((24, 1), (48, 2), (48, 1), (96, 2), (96, 1)):
        y = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        y = layers.BatchNormalization()(y)
        y = layers.Activation("relu")(y)
        x = layers.Add()([x, y]) if x.shape == y.shape else y
    return keras.Model(picture, layers.GlobalAveragePooling2D()(x), name="backbone")


def head():
    features = keras.Input((96,))
    x = layers.LayerNormalization()(features)
    x = layers.Dense(128, activation="relu")(x)
    x = layers.Dropout(0.2)(x)
    return keras.Model(features, layers.Dense(GROUNDS)(x), name="head")


def make_step(backbone, top, whole):
    optimizer = keras.optimizers.AdamW(1e-3)
    tuned = top.trainable_variables
    if whole:
        variables = backbone.trainable_variables + tuned
    else:
        backbone.trainable = False
        variables = tuned
    optimizer.build(tuned)
    names = {v.path for v in tuned}
    criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(pictures, labels):
        with tf.GradientTape() as tape:
            features = backbone(pictures, training=False)
            loss = criterion(labels, top(features, training=True))
        grads = tape.gradient(loss, variables)
        grads, norm = tf.clip_by_global_norm(grads, 5.0)
        optimizer.apply_gradients([(g, v) for g, v in zip(grads, variables) if v.path in names])
        return loss, norm

    return train_step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    pictures, ground = photographs()
    data = tf.data.Dataset.from_tensor_slices((pictures, ground)).shuffle(len(ground)).repeat()
    data = data.batch(BATCH).map(lambda p, g: (tf.image.random_flip_left_right(p), g), num_parallel_calls=2)
    batches = iter(data.prefetch(tf.data.AUTOTUNE))
    train_step = make_step(textile_backbone(), head(), whole=args.fault)

    for _ in range(WARM_UP):
        loss, norm = train_step(*next(batches))
    print(f"warm: loss {float(loss):.3f}")

    tf.profiler.experimental.start(args.logdir)
    for step in range(RECORDED):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss, norm = train_step(*next(batches))
    print(f"loss {float(loss):.3f}, gradient norm {float(norm):.3f}")
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main()
