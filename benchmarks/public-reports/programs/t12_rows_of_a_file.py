import os
import tempfile

import h5py
import keras
import numpy as np

PATH = os.path.join(tempfile.mkdtemp(), "training.h5")


class Rows(keras.utils.PyDataset):
    """Batches of shuffled rows, read from the file."""

    def __init__(self, path, batch):
        super().__init__()
        self.file = h5py.File(path, "r")
        self.batch = batch
        self.order = np.random.default_rng(0).permutation(len(self.file["y"]))

    def __len__(self):
        return len(self.order) // self.batch

    def __getitem__(self, number):
        chosen = np.sort(self.order[number * self.batch : (number + 1) * self.batch])
        return self.file["x"][chosen], self.file["y"][chosen]


def main():
    rng = np.random.default_rng(0)
    with h5py.File(PATH, "w") as file:
        x = rng.normal(size=(20_000, 60)).astype("float32")
        file.create_dataset("x", data=x, chunks=(500, 60), compression="gzip")
        file.create_dataset("y", data=x.sum(1, keepdims=True), chunks=(500, 1))
    model = keras.Sequential(
        [keras.layers.Input((60,)), keras.layers.Dense(50, "relu"), keras.layers.Dense(50, "relu"), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    rows = Rows(PATH, 200)
    model.fit(rows, epochs=max(1, int(os.environ.get("STEPS", 1500)) // len(rows)), verbose=2)


main()
