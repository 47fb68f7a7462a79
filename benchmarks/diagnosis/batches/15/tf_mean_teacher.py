"""Mean-teacher semi-supervised learning on digit-like glyph images, torch DataLoader in."""
import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf
import torch
from PIL import Image, ImageDraw
from torch.utils.data import DataLoader, Dataset

SIZE, CLASSES, BATCH, DECAY = 28, 10, 48, 0.99
WARMUP, STEPS = 6, 12


def glyphs(n, seed=0):
    rng = np.random.default_rng(seed)
    x = np.zeros((n, SIZE, SIZE), np.float32)
    y = rng.integers(0, CLASSES, n)
    for i in range(n):
        img = Image.new("L", (SIZE, SIZE))
        ImageDraw.Draw(img).text(tuple(rng.integers(4, 16, 2)), str(y[i]), fill=255)
        x[i] = np.asarray(img.rotate(rng.uniform(-15, 15)), np.float32) / 255
    y[rng.random(n) < 0.6] = -1
    return x.reshape(n, -1), y.astype(np.int64)


class Glyphs(Dataset):
    def __init__(self, x, y):
        self.x, self.y = torch.from_numpy(x), torch.from_numpy(y)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build():
    return tf.keras.Sequential([
        tf.keras.Input((SIZE * SIZE,)),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(512, activation="relu"),
        tf.keras.layers.Dense(CLASSES),
    ])


class MeanTeacher:
    def __init__(self):
        self.student, self.teacher = build(), build()
        self.teacher.set_weights(self.student.get_weights())
        self.opt = tf.keras.optimizers.SGD(0.05)

    @tf.function
    def learn(self, x, y):
        target = tf.nn.softmax(self.teacher(x + tf.random.normal(tf.shape(x), stddev=0.1)))
        known = tf.cast(y >= 0, tf.float32)
        with tf.GradientTape() as tape:
            logits = self.student(x + tf.random.normal(tf.shape(x), stddev=0.1), training=True)
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(y, 0), logits)
            sup = tf.reduce_sum(known * ce) / (tf.reduce_sum(known) + 1e-6)
            cons = tf.reduce_mean((tf.nn.softmax(logits) - target) ** 2)
            loss = sup + 5.0 * cons
        tvars = self.student.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, tvars), tvars))
        return loss

    @tf.function
    def average_variables(self):
        for t, s in zip(self.teacher.variables, self.student.variables):
            t.value.assign(DECAY * t.value + (1 - DECAY) * s.value)

    def average_weights(self):
        old, new = self.teacher.get_weights(), self.student.get_weights()
        self.teacher.set_weights(
            [DECAY * a + (1 - DECAY) * b for a, b in zip(old, new)]
        )


def endless(loader):
    while True:
        for x, y in loader:
            yield x.numpy(), y.numpy()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()
    torch.manual_seed(0)
    tf.random.set_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(Glyphs(*glyphs(1500)), batch_size=BATCH, shuffle=True, drop_last=True)
    batches = endless(loader)
    mt = MeanTeacher()
    average = mt.average_weights if args.fault else mt.average_variables
    for _ in range(WARMUP):
        x, y = next(batches)
        mt.learn(tf.constant(x), tf.constant(y))
        average()
    tf.profiler.experimental.start(args.logdir)
    for _ in range(STEPS):
        x, y = next(batches)
        loss = mt.learn(tf.constant(x), tf.constant(y))
        average()
    tf.profiler.experimental.stop()
    print("last loss", round(float(loss), 4))


if __name__ == "__main__":
    main()
