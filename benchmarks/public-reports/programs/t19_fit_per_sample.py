import os
import random
from collections import deque

import keras
import numpy as np

STATE, ACTIONS = 4, 2


def build_model():
    model = keras.Sequential(
        [
            keras.layers.Input((STATE,)),
            keras.layers.Dense(24, activation="relu"),
            keras.layers.Dense(24, activation="relu"),
            keras.layers.Dense(ACTIONS),
        ]
    )
    model.compile(loss="mse", optimizer=keras.optimizers.Adam(1e-3))
    return model


class DDQNAgent:
    def __init__(self):
        self.memory = deque(maxlen=2000)
        self.gamma = 0.95
        self.model = build_model()
        self.target_model = build_model()

    def remember(self, *transition):
        self.memory.append(transition)

    def act(self, state):
        if random.random() < 0.5:
            return random.randrange(ACTIONS)
        return int(np.argmax(self.model.predict(state, verbose=0)[0]))

    def replay(self, batch_size):
        minibatch = random.sample(self.memory, batch_size)
        for state, action, reward, next_state, done in minibatch:
            target = self.model.predict(state, verbose=0)
            if done:
                target[0][action] = reward
            else:
                best = np.argmax(self.model.predict(next_state, verbose=0)[0])
                later = self.target_model.predict(next_state, verbose=0)[0]
                target[0][action] = reward + self.gamma * later[best]
            self.model.fit(state, target, epochs=1, verbose=0)


def main(steps, batch_size=8):
    random.seed(0)
    rng = np.random.default_rng(0)
    agent = DDQNAgent()
    state = rng.normal(size=(1, STATE))
    for step in range(steps + batch_size):
        action = agent.act(state)
        next_state = 0.9 * state + 0.1 * rng.normal(size=(1, STATE))
        done = bool(rng.random() < 0.05)
        agent.remember(state, action, float(next_state[0, action]), next_state, done)
        state = next_state
        if len(agent.memory) > batch_size:
            agent.replay(batch_size)
            print(step, action)


main(int(os.environ.get("STEPS", 12)))
