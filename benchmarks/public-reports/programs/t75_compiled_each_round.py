import os
import time

import keras
import numpy as np

BOARD, HIDDEN, GAMES, BATCH = 10, 64, 32, 32


def reward(board, cells):
    """Ships are rows of ones; a shot at a cell of a ship counts one, any other costs."""
    return np.where(np.take_along_axis(board, cells[:, None], 1)[:, 0] > 0, 1.0, -0.2)


def play(model, rng):
    """Shots at hidden boards: what was seen, where it was shot at, and what came of it."""
    board = np.zeros((GAMES, BOARD))
    for row, at in zip(board, rng.integers(0, BOARD - 3, GAMES)):
        row[at : at + 3] = 1
    seen = np.zeros((GAMES, BOARD))
    seen_before, shots, rewards = [], [], []
    for _ in range(4):
        values = np.array(model(seen.astype("float32")))
        values[seen != 0] = -9
        lucky = rng.uniform(size=GAMES) < 0.2
        cells = np.where(lucky, rng.integers(0, BOARD, GAMES), values.argmax(1))
        hits = reward(board, cells)
        seen_before.append(seen.copy())
        shots.append(cells)
        rewards.append(hits)
        seen[np.arange(GAMES), cells] = np.sign(hits)
    return np.concatenate(seen_before), np.concatenate(shots), np.concatenate(rewards)


def build_model():
    initializer = keras.initializers.TruncatedNormal(stddev=0.05, seed=1)
    layers = [keras.layers.Input((BOARD,))]
    for _ in range(2):
        layers += [keras.layers.Dense(HIDDEN, kernel_initializer=initializer), keras.layers.ReLU()]
    return keras.Sequential(layers + [keras.layers.Dense(BOARD, kernel_initializer=initializer)])


def main(rounds):
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    model = build_model()
    optimizer = keras.optimizers.SGD(0.05)
    memory, began = [], time.time()
    for number in range(rounds):
        memory = (memory + [play(model, rng)])[-8:]
        seen, shots, rewards = (np.concatenate(part) for part in zip(*memory))
        targets = np.array(model(seen.astype("float32")))
        targets[np.arange(len(shots)), shots] = rewards
        model.compile(optimizer=optimizer, loss="mse", metrics=["mae"])
        history = model.fit(seen, targets, batch_size=BATCH, epochs=1, verbose=0)
        if number % 10 == 0:
            print(
                f"round {number}: reward {memory[-1][2].mean():.3f},",
                f"loss {history.history['loss'][-1]:.4f}, {time.time() - began:.1f} s",
            )


main(int(os.environ.get("STEPS", 60)))
