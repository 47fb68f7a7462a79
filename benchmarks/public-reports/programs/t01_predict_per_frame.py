import os

import keras
import numpy as np

FRAME = (48, 48, 3)


def stage(outputs):
    return keras.Sequential(
        [
            keras.layers.Input(FRAME),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(outputs),
        ]
    )


class Detector:
    def __init__(self):
        self.first, self.second, self.third = stage(5), stage(5), stage(15)

    def detect(self, frame):
        candidates = self.first.predict(frame[None], verbose=0)
        refined = self.second.predict(frame[None] + candidates[0, 0], verbose=0)
        return self.third.predict(frame[None] + refined[0, 0], verbose=0)


def watch(frames):
    rng = np.random.default_rng(0)
    detector = Detector()
    film = rng.random((100, *FRAME)).astype("float32")
    for number in range(frames):
        marks = detector.detect(film[number % 100])
        if number % 20 == 0:
            print(number, marks[0, :3])


watch(int(os.environ.get("STEPS", 600)))
