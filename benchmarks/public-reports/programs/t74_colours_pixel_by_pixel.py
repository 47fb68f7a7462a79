import os
import time

import keras
import numpy as np

SIZE, SCENES, BATCH = 64, 200, 4
COLOURS = {
    "sky": (128, 128, 128),
    "building": (128, 0, 0),
    "pole": (192, 192, 128),
    "road": (128, 64, 128),
    "tree": (128, 128, 0),
    "car": (64, 0, 128),
    "unlabelled": (0, 0, 0),
}


def draw_scenes(seed):
    """Street scenes: noisy pictures, and labels as pictures of one colour a class."""
    rng = np.random.default_rng(seed)
    colours = np.array(list(COLOURS.values()), "uint8")
    labels = np.zeros((SCENES, SIZE, SIZE, 3), "uint8")
    labels[:] = colours[0]
    labels[:, SIZE // 2 :] = colours[3]
    for label in labels:
        for kind in rng.integers(1, len(colours), 12):
            (y, x), (h, w) = rng.integers(0, SIZE - 8, 2), rng.integers(4, 24, 2)
            label[y : y + h, x : x + w] = colours[kind]
    images = labels[..., ::-1] * 0.5 + rng.normal(60, 25, labels.shape)
    return np.clip(images, 0, 255).astype("uint8"), labels


def one_hot_it(label, class_dict):
    colours = list(class_dict.values())
    semantic_map = np.zeros((*label.shape[:2], len(colours)), "float32")
    for i in range(label.shape[0]):
        for j in range(label.shape[1]):
            semantic_map[i, j, colours.index(tuple(label[i, j]))] = 1
    return semantic_map


def augment(image, label, rng):
    if rng.integers(2):
        image, label = image[:, ::-1], label[:, ::-1]
    return np.clip(image * rng.uniform(0.8, 1.2), 0, 255), label


def build_model():
    inputs = keras.Input((SIZE, SIZE, 3))
    x = keras.layers.Rescaling(1 / 255)(inputs)
    x = skip = keras.layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    x = keras.layers.Conv2D(16, 3, 2, padding="same", activation="relu")(x)
    x = keras.layers.Conv2DTranspose(8, 3, 2, padding="same", activation="relu")(x)
    x = keras.layers.Concatenate()([x, skip])
    return keras.Model(inputs, keras.layers.Conv2D(len(COLOURS), 1)(x))


def main(steps):
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(1)
    images, labels = draw_scenes(0)
    model = build_model()
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.RMSprop(1e-3), loss, metrics=["categorical_accuracy"])
    began = time.time()
    for step in range(steps):
        input_batch, output_batch = [], []
        for index in rng.integers(SCENES, size=BATCH):
            image, label = augment(images[index], labels[index], rng)
            input_batch.append(image)
            output_batch.append(one_hot_it(label, COLOURS))
        loss, accuracy = model.train_on_batch(np.stack(input_batch), np.stack(output_batch))
        if step % 50 == 0:
            print(f"step {step}: loss {loss:.3f}, accuracy {accuracy:.3f}, {time.time() - began:.1f} s")


main(int(os.environ.get("STEPS", 400)))
