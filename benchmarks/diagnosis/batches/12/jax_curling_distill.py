"""Distils a deep curling evaluator (who scores how many in this end?) into a small one for the tablet at the rink."""
import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import keras
import numpy as np
from keras import layers, ops

LOGDIR = sys.argv[1]
FAULT = "--fault" in sys.argv[2:]

STONES = 16
SCORES = 17  # -8 .. +8
BATCH = 96
POSITIONS = 4000
WARMUP, RECORD = 6, 12


def random_ends(rng):
    xy = rng.normal(0, 1.6, (POSITIONS, STONES, 2))
    team = np.tile([1.0, -1.0], STONES // 2)[None, :, None].repeat(POSITIONS, 0)
    played = rng.uniform(size=(POSITIONS, STONES, 1)) < 0.7
    radius = np.linalg.norm(xy, axis=-1, keepdims=True)
    angle = np.arctan2(xy[..., 1:], xy[..., :1])
    return np.concatenate([xy, team, played, radius, np.cos(angle), np.sin(angle), radius < 1.83], -1).astype(np.float32)


def transformer(depth, width, heads, name):
    inputs = keras.Input((STONES, 8))
    x = layers.Dense(width)(inputs)
    for _ in range(depth):
        h = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(heads, width // heads)(h, h)])
        h = layers.LayerNormalization()(x)
        h = layers.Dense(2 * width, activation="gelu")(h)
        x = layers.Add()([x, layers.Dense(width)(h)])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return keras.Model(inputs, layers.Dense(SCORES)(x), name=name)


@keras.saving.register_keras_serializable()
class SoftTargets(keras.losses.Loss):
    def __init__(self, temperature=2.0, name="soft_targets"):
        super().__init__(name=name)
        self.temperature = temperature

    def call(self, teacher_logits, student_logits):
        target = ops.softmax(teacher_logits / self.temperature)
        logp = ops.log_softmax(student_logits / self.temperature)
        return -ops.sum(target * logp, axis=-1) * self.temperature**2


def mirrored(batch, rng):
    flip = rng.choice([-1.0, 1.0], (len(batch), 1)).astype(np.float32)
    batch = batch.copy()
    batch[..., 0] *= flip
    batch[..., 5] *= flip
    return batch


def main():
    keras.utils.set_random_seed(16)
    rng = np.random.default_rng(16)
    ends = random_ends(rng)
    teacher = transformer(6, 64, 4, "teacher")
    teacher.trainable = False
    student = transformer(3, 48, 4, "student")
    student.compile(optimizer=keras.optimizers.AdamW(1e-3), loss=SoftTargets())

    def step():
        batch = mirrored(ends[rng.integers(0, POSITIONS, BATCH)], rng)
        if FAULT:
            targets = teacher(batch, training=False)
        else:
            targets = teacher.predict_on_batch(batch)
        return student.train_on_batch(batch, targets)

    for _ in range(WARMUP):
        loss = step()
    print("warm-up loss", float(loss))

    jax.profiler.start_trace(LOGDIR)
    for _ in range(RECORD):
        loss = step()
    jax.profiler.stop_trace()
    print("distillation loss", float(loss))


if __name__ == "__main__":
    main()
