"""Routes support tickets with a Keras model; the tickets' metadata stays in memory as Python objects."""

import gc
import sys

import keras
import numpy as np

STEPS = 1
TEAMS = 20
BATCH = 192


class TicketStore:
    """Everything known about a ticket; the model sees the numbers, the report at the end needs the rest."""

    def __init__(self, count):
        rng = np.random.default_rng(77)
        self.numbers = rng.normal(size=(count, 256)).astype("float32")
        self.team = rng.integers(0, TEAMS, count)
        self.meta = [
            {"id": i, "tags": [f"t{i % 50}", f"p{i % 4}"], "history": [(i, k) for k in range(6)]} for i in range(count)
        ]


class MemoryGuard(keras.callbacks.Callback):
    """Training was once killed for its memory, so clean up now and then."""

    def __init__(self, each_batch):
        super().__init__()
        self.each_batch = each_batch

    def on_train_batch_begin(self, batch, logs=None):
        if self.each_batch:
            gc.collect()

    def on_epoch_end(self, epoch, logs=None):
        gc.collect()


def make_model():
    model = keras.Sequential(
        [
            keras.layers.Input((256,)),
            keras.layers.Dense(1280, activation="gelu"),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(1280, activation="gelu"),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(TEAMS),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-4), loss=loss, metrics=["accuracy"])
    return model


def main(logdir, faulty):
    keras.utils.set_random_seed(5)
    store = TicketStore(40_000)
    model = make_model()
    rows = BATCH * 14
    board = keras.callbacks.TensorBoard(log_dir=logdir, profile_batch=2, write_graph=False)
    # the guard comes last, as it was added last
    model.fit(
        store.numbers[:rows],
        store.team[:rows],
        batch_size=BATCH,
        epochs=1,
        verbose=0,
        callbacks=[board, MemoryGuard(each_batch=faulty)],
    )


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
