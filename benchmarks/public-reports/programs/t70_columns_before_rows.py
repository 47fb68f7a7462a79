import os

import keras
import numpy as np

HOURS, EPOCH, BATCH = 1_500_000, 50, 128
SEQUENCE, AHEAD = 48, 24


class Readings:
    """A long table of smart meter readings, one named column for each quantity."""

    def __init__(self, names, values):
        self.names, self.values = names, values

    def __len__(self):
        return len(self.values)

    def columns(self, names):
        return Readings(names, self.values[:, [self.names.index(name) for name in names]])

    def rows(self, index):
        return Readings(self.names, self.values[index])

    def column(self, name):
        return self.values[:, self.names.index(name)]


def simulate(seed):
    rng = np.random.default_rng(seed)
    hour = np.arange(HOURS)
    warmth = 10 + 8 * np.sin(hour * 2 * np.pi / 8766) + rng.normal(0, 2, HOURS)
    load = 1 + np.sin(hour * 2 * np.pi / 24) - 0.05 * warmth + rng.normal(0, 0.1, HOURS)
    table = {
        "load": load,
        "temperature": warmth / 20,
        "day_sin": np.sin(hour * 2 * np.pi / 24),
        "day_cos": np.cos(hour * 2 * np.pi / 24),
        "week_sin": np.sin(hour * 2 * np.pi / 168),
        "week_cos": np.cos(hour * 2 * np.pi / 168),
        "wind": rng.gamma(2, 1, HOURS),
        "cloud": rng.uniform(0, 1, HOURS),
        "price": rng.normal(1, 0.2, HOURS),
    }
    return Readings(list(table), np.stack(list(table.values()), 1).astype("float32"))


class ForecastBatches(keras.utils.PyDataset):
    """Random stretches of the series, with what is known of an hour after them."""

    def __init__(self, readings, features, target="load"):
        super().__init__()
        self.readings, self.features, self.target = readings, features, target
        self.rng = np.random.default_rng(1)

    def __len__(self):
        return EPOCH

    def __getitem__(self, batch):
        starts = self.rng.integers(0, len(self.readings) - SEQUENCE - AHEAD, BATCH)
        hours = starts + SEQUENCE + self.rng.integers(0, AHEAD, BATCH)
        forecast = self.readings.columns(self.features + [self.target]).rows(hours)
        history = self.readings.column(self.target)[starts[:, None] + np.arange(SEQUENCE)]
        return (history, forecast.values[:, :-1]), forecast.values[:, -1:]


def main(steps):
    keras.utils.set_random_seed(0)
    features = ["temperature", "day_sin", "day_cos", "week_sin", "week_cos", "wind", "cloud"]
    history, known = keras.Input((SEQUENCE,)), keras.Input((len(features),))
    x = keras.layers.Reshape((SEQUENCE, 1))(history)
    x = keras.layers.Conv1D(32, 5, activation="relu")(x)
    x = keras.layers.Concatenate()([keras.layers.Flatten()(x), known])
    x = keras.layers.Dense(64, activation="relu")(x)
    model = keras.Model([history, known], keras.layers.Dense(1)(x))
    model.compile(keras.optimizers.Adam(1e-3), "mse", metrics=["mae"])
    model.fit(ForecastBatches(simulate(0), features), epochs=max(1, steps // EPOCH), verbose=2)


main(int(os.environ.get("STEPS", 500)))
