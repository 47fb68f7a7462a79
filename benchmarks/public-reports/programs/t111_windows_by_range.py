import math
import os

import keras
import numpy as np

LENGTH, SAMPLING_RATE, BATCH = 1440, 1, 128


def weather(minutes=100000):
    rng = np.random.default_rng(0)
    t = np.arange(minutes)
    temperature = 10 * np.sin(t / 20000) + 3 * np.sin(2 * np.pi * t / 1440) + np.cumsum(0.02 * rng.normal(size=minutes))
    data = temperature[:, np.newaxis]
    return (data - data.mean(0)) / data.std(0)


class TimeseriesGenerator(keras.utils.PyDataset):
    """Batches of windows of the past, with the value that follows each."""

    def __init__(self, data, targets, length, sampling_rate=1, shuffle=False, batch_size=128):
        super().__init__()
        self.data, self.targets = data, targets
        self.length, self.sampling_rate = length, sampling_rate
        self.start_index, self.end_index = length, len(data) - 1
        self.shuffle, self.batch_size = shuffle, batch_size
        self.rng = np.random.default_rng(1)

    def __len__(self):
        return math.ceil((self.end_index - self.start_index + 1) / self.batch_size)

    def _empty_batch(self, num_rows):
        samples_shape = [num_rows, self.length // self.sampling_rate]
        samples_shape.extend(self.data.shape[1:])
        return np.empty(samples_shape), np.empty([num_rows])

    def __getitem__(self, index):
        if self.shuffle:
            rows = self.rng.integers(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            i = self.start_index + self.batch_size * index
            rows = np.arange(i, min(i + self.batch_size, self.end_index + 1))
        samples, targets = self._empty_batch(len(rows))
        for j in range(len(rows)):
            indices = range(rows[j] - self.length, rows[j], self.sampling_rate)
            samples[j] = self.data[indices]
            targets[j] = self.targets[rows[j]]
        return samples, targets


def make_model():
    window = keras.layers.Input((LENGTH // SAMPLING_RATE, 1))
    x = keras.layers.Dense(24, activation="relu")(keras.layers.Flatten()(window))
    model = keras.Model(window, keras.layers.Dense(1)(x))
    model.compile(keras.optimizers.RMSprop(3e-4), "mae")
    return model


def main(steps):
    keras.utils.set_random_seed(0)
    data = weather()
    train = TimeseriesGenerator(data, data[:, 0], LENGTH, SAMPLING_RATE, shuffle=True, batch_size=BATCH)
    model = make_model()
    model.fit(train, steps_per_epoch=max(1, steps // 10), epochs=10, verbose=2)


main(int(os.environ.get("STEPS", 900)))
