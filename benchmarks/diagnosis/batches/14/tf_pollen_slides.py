"""Pollen grains on microscope slides: a small residual net, fed by a reader thread from slides on disk."""
import argparse
import os
import queue
import shutil
import tempfile
import threading
import time

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SPECIES = ["alnus", "betula", "corylus", "fraxinus", "poaceae", "quercus", "tilia", "urtica"]
PATCH = 64
BATCH = 32
SLIDES = 8
GRAINS = 48


def make_slides(folder):
    rng = np.random.default_rng(41)
    y, x = np.mgrid[:PATCH, :PATCH] - PATCH / 2
    for s in range(SLIDES):
        species = rng.integers(0, len(SPECIES), GRAINS)
        pictures = np.empty((GRAINS, PATCH, PATCH, 3), np.uint8)
        for g, k in enumerate(species):
            radius = 10 + 2 * k + rng.normal()
            angle = np.arctan2(y, x)
            wall = np.hypot(x, y) - radius * (1 + 0.05 * np.cos((3 + k) * angle))
            grey = 200 - 90 * np.exp(-((wall / 3) ** 2)) - 30 * (wall < 0)
            tint = np.array([1.0, 0.9 - 0.03 * k, 0.8])
            pictures[g] = np.clip(grey[..., None] * tint + rng.normal(scale=6, size=(PATCH, PATCH, 3)), 0, 255)
        np.save(os.path.join(folder, f"slide_{s:02d}.npy"), pictures)
        np.save(os.path.join(folder, f"slide_{s:02d}_species.npy"), species)


class Reader(threading.Thread):
    """Fills batches of augmented patches ahead of the training loop."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        names = sorted(n[:-4] for n in os.listdir(folder) if not n.endswith("species.npy"))
        self.slides = [np.load(os.path.join(folder, n + ".npy"), mmap_mode="r") for n in names]
        self.species = [np.load(os.path.join(folder, n + "_species.npy")) for n in names]
        self.rng = np.random.default_rng(7)
        self.closing = threading.Event()

    def make(self):
        slide = self.rng.integers(0, SLIDES, BATCH)
        grain = self.rng.integers(0, GRAINS, BATCH)
        pictures = np.stack([self.slides[s][g] for s, g in zip(slide, grain)])
        labels = np.array([self.species[s][g] for s, g in zip(slide, grain)], np.int32)
        turned = np.rot90(pictures, self.rng.integers(4), axes=(1, 2))
        if self.rng.random() < 0.5:
            turned = turned[:, ::-1]
        return np.ascontiguousarray(turned), labels


class QueueReader(Reader):
    def __init__(self, folder, depth=2):
        super().__init__(folder)
        self.ready = queue.Queue(maxsize=depth)

    def run(self):
        while not self.closing.is_set():
            self.ready.put(self.make())

    def take(self):
        return self.ready.get()


class ListReader(Reader):
    def __init__(self, folder, depth=2):
        super().__init__(folder)
        self.ready, self.depth, self.lock = [], depth, threading.Lock()

    def run(self):
        while not self.closing.is_set():
            if len(self.ready) >= self.depth:
                time.sleep(0.5)
                continue
            batch = self.make()
            with self.lock:
                self.ready.append(batch)

    def take(self):
        while True:
            with self.lock:
                if self.ready:
                    return self.ready.pop(0)
            time.sleep(0.005)


def residual(x, width, strides):
    y = layers.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(x)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same", use_bias=False)(y))
    x = layers.Conv2D(width, 1, strides=strides)(x)
    return layers.Activation("relu")(x + y)


def build():
    inputs = keras.Input((PATCH, PATCH, 3), dtype="uint8")
    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = layers.Conv2D(16, 5, strides=2, padding="same", activation="relu")(x)
    for width, strides in ((24, 1), (48, 2), (64, 2)):
        x = residual(x, width, strides)
    return keras.Model(inputs, layers.Dense(len(SPECIES))(layers.GlobalAveragePooling2D()(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(41)
    folder = tempfile.mkdtemp()
    try:
        make_slides(folder)
        model = build()
        optimizer = keras.optimizers.AdamW(1e-3)
        optimizer.build(model.trainable_variables)
        loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

        @tf.function
        def train_step(pictures, species):
            with tf.GradientTape() as tape:
                loss = loss_fn(species, model(pictures, training=True))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
            return loss

        reader = ListReader(folder) if args.fault else QueueReader(folder)
        reader.start()
        for _ in range(9):
            loss = train_step(*reader.take())
        with tf.profiler.experimental.Profile(args.logdir):
            for _ in range(12):
                loss = train_step(*reader.take())
        print(f"loss {float(loss):.3f}")
        reader.closing.set()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
