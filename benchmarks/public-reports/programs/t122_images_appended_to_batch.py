import os

import keras
import numpy as np

HEIGHT, WIDTH, BATCH, EPOCH = 66, 200, 128, 5
CORRECTION = {"left": 0.25, "center": 0.0, "right": -0.25}
CAMERAS = list(CORRECTION)


def record_drive(rng, frames=160):
    """Camera frames of a simulated drive and the steering angles."""
    steering = np.convolve(rng.normal(size=frames + 20), np.ones(21) / 21, "valid").astype("float32")
    rows, columns = np.mgrid[0:160, 0:320]
    images = {}
    for camera, correction in CORRECTION.items():
        middle = 160 + (steering[:, None, None] + correction) * (160 - rows) * 1.5
        road = np.abs(columns - middle) < 20 + rows / 2
        shade = 90 + 60 * road + rng.integers(0, 40, (frames, 160, 320))
        images[camera] = np.stack([shade, shade - 20, shade // 2], -1).astype("uint8")
    return images, steering


def rgb2ycbcr(image):
    xform = np.array([[0.299, 0.587, 0.114], [-0.1687, -0.3313, 0.5], [0.5, -0.4187, -0.0813]], "float32")
    ycbcr = image @ xform.T
    ycbcr[:, :, 1:] += 0.5
    return ycbcr


def preprocess(image, top_offset=0.375, bottom_offset=0.125):
    top, bottom = int(top_offset * image.shape[0]), int((1 - bottom_offset) * image.shape[0])
    rows = np.linspace(top, bottom - 1, HEIGHT).astype(int)
    columns = np.linspace(0, image.shape[1] - 1, WIDTH).astype(int)
    return rgb2ycbcr(image[rows][:, columns] / np.float32(255))


def generate_samples(images, steering, augment=True):
    rng = np.random.default_rng(1)
    while True:
        indices = rng.permutation(len(steering) * 8) % len(steering)
        for start in range(0, len(indices), BATCH):
            x = np.empty([0, HEIGHT, WIDTH, 3], dtype=np.float32)
            y = np.empty([0], dtype=np.float32)
            for i in indices[start : start + BATCH]:
                camera = CAMERAS[rng.integers(3)] if augment else "center"
                image, angle = images[camera][i].copy(), steering[i] + CORRECTION[camera]
                if augment:
                    x1, x2 = np.sort(rng.integers(0, image.shape[1], 2))
                    image[:, x1:x2] //= 2
                top = rng.uniform(0.3, 0.45) if augment else 0.375
                bottom = rng.uniform(0.05, 0.2) if augment else 0.125
                x = np.append(x, [preprocess(image, top, bottom)], axis=0)
                y = np.append(y, np.float32([angle]))
            flip = rng.permutation(len(x))[: len(x) // 2]
            x[flip], y[flip] = x[flip, :, ::-1], -y[flip]
            yield x, y


def build_model():
    convs = [keras.layers.Conv2D(c, k, s, activation="relu") for c, k, s in ((8, 5, 4), (16, 5, 2), (24, 3, 2))]
    dense = [keras.layers.Dense(n, "relu") for n in (50, 10)]
    return keras.Sequential(
        [keras.Input((HEIGHT, WIDTH, 3)), *convs, keras.layers.Flatten(), *dense, keras.layers.Dense(1)]
    )


def main(steps):
    keras.utils.set_random_seed(0)
    images, steering = record_drive(np.random.default_rng(0))
    model = build_model()
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    samples = generate_samples(images, steering)
    model.fit(samples, steps_per_epoch=EPOCH, epochs=max(1, steps // EPOCH), verbose=2)


main(int(os.environ.get("STEPS", 30)))
