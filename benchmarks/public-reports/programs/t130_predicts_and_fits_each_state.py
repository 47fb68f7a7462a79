import os
import time

import keras
import numpy as np

STATES, SLIP, SMALL, LARGE, LENGTH = 5, 0.2, 2, 10, 20


class NChain:
    """A chain of states: forward to the large reward at its end, or back to the start for a small one."""

    def __init__(self, seed):
        self.rng, self.state, self.steps = np.random.default_rng(seed), 0, 0

    def reset(self):
        self.state, self.steps = 0, 0
        return self.state

    def step(self, action):
        if self.rng.random() < SLIP:
            action = 1 - action
        if action == 1:
            reward, self.state = SMALL, 0
        elif self.state < STATES - 1:
            reward, self.state = 0, self.state + 1
        else:
            reward = LARGE
        self.steps += 1
        return self.state, reward, self.steps >= LENGTH


def build_model():
    model = keras.Sequential()
    model.add(keras.layers.InputLayer(shape=(STATES,)))
    model.add(keras.layers.Dense(10, activation="sigmoid"))
    model.add(keras.layers.Dense(2, activation="linear"))
    model.compile(loss="mse", optimizer="adam", metrics=["mae"])
    return model


def main(steps):
    keras.utils.set_random_seed(0)
    env, model, rng = NChain(0), build_model(), np.random.default_rng(1)
    y, eps, decay = 0.95, 0.5, 0.99
    start, rewards, s = time.time(), [], env.reset()
    for step in range(1, steps + 1):
        if rng.random() < eps:
            a = rng.integers(2)
        else:
            a = np.argmax(model.predict(np.identity(STATES)[s : s + 1], verbose=0))
        new_s, r, done = env.step(a)
        future = model.predict(np.identity(STATES)[new_s : new_s + 1], verbose=0)
        target_vec = model.predict(np.identity(STATES)[s : s + 1], verbose=0)[0]
        target_vec[a] = r + y * np.max(future)
        model.fit(np.identity(STATES)[s : s + 1], target_vec.reshape(-1, 2), epochs=1, verbose=0)
        rewards.append(r)
        s = new_s
        if done:
            print(f"step {step}, {time.time() - start:.1f} s, mean reward {np.mean(rewards):.3f}", flush=True)
            s, rewards, eps = env.reset(), [], eps * decay


main(int(os.environ.get("STEPS", 70)))
