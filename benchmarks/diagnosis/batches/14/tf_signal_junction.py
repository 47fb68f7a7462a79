"""Deep Q-learning of the signal programme at a four-arm road junction (12 lanes, cell model of the queues)."""
import argparse
from collections import deque

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LANES, CELLS, PAST = 12, 64, 3
PHASES = 6
BATCH = 96
TICKS_PER_UPDATE = 3
GAMMA = 0.97

GREEN = np.zeros((PHASES, LANES), bool)
for p, open_lanes in enumerate([(0, 1, 6, 7), (2, 8), (3, 4, 9, 10), (5, 11), (0, 1, 2), (6, 7, 8)]):
    GREEN[p, list(open_lanes)] = True


class Junction:
    """Vehicles advance one cell a tick; the first cell empties on green."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.rate = self.rng.uniform(0.1, 0.35, LANES)
        self.reset()

    def reset(self):
        self.cells = np.zeros((LANES, CELLS), np.float32)
        self.past = deque([self.cells.copy()] * PAST, maxlen=PAST)
        self.phase, self.clock = 0, 0
        return self.state()

    def state(self):
        return np.stack(self.past, -1)

    def tick(self, phase):
        lost = 0.5 if phase != self.phase else 0.0
        self.phase = phase
        cells = self.cells
        served = cells[:, 0] * GREEN[phase]
        cells[:, 0] -= served
        free = 1 - cells[:, :-1]
        moved = np.minimum(cells[:, 1:], free)
        cells[:, :-1] += moved
        cells[:, 1:] -= moved
        cells[:, -1] = np.minimum(cells[:, -1] + (self.rng.random(LANES) < self.rate), 1)
        self.past.append(cells.copy())
        self.clock += 1
        reward = served.sum() - 0.05 * cells.sum() - lost
        done = self.clock >= 300
        return self.state(), np.float32(reward), done


class Memory:
    def __init__(self, size):
        shape = (size, LANES, CELLS, PAST)
        self.state, self.after = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.action, self.reward = np.zeros(size, np.int32), np.zeros(size, np.float32)
        self.done = np.zeros(size, np.float32)
        self.size, self.used, self.at = size, 0, 0

    def add(self, s, a, r, after, done):
        i = self.at
        self.state[i], self.action[i], self.reward[i], self.after[i], self.done[i] = s, a, r, after, done
        self.at, self.used = (i + 1) % self.size, min(self.used + 1, self.size)

    def draw(self, rng):
        i = rng.integers(0, self.used, BATCH)
        return self.state[i], self.action[i], self.reward[i], self.after[i], self.done[i]


def q_network():
    inputs = keras.Input((LANES, CELLS, PAST))
    x = layers.Conv2D(24, (1, 5), padding="same", activation="relu")(inputs)
    x = layers.Conv2D(48, (3, 5), strides=(1, 2), padding="same", activation="relu")(x)
    x = layers.Conv2D(48, (3, 3), strides=(2, 2), padding="same", activation="relu")(x)
    x = layers.Flatten()(x)
    x = layers.Dense(128, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(PHASES)(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(5)
    rng = np.random.default_rng(5)

    online, target = q_network(), q_network()
    target.set_weights(online.get_weights())
    optimizer = keras.optimizers.Adam(3e-4)
    optimizer.build(online.trainable_variables)

    @tf.function(reduce_retracing=True)
    def best_phase(states):
        return tf.argmax(online(states, training=False), axis=1)

    @tf.function
    def update(state, action, reward, after, done):
        ahead = tf.reduce_max(target(after, training=False), axis=1)
        goal = reward + GAMMA * (1 - done) * ahead
        with tf.GradientTape() as tape:
            q = tf.gather(online(state, training=True), action, batch_dims=1)
            loss = tf.reduce_mean(keras.losses.huber(goal[:, None], q[:, None]))
        grads = tape.gradient(loss, online.trainable_variables)
        optimizer.apply_gradients(zip(grads, online.trainable_variables))
        return loss

    def choose(state):
        if rng.random() < 0.05:
            return int(rng.integers(PHASES))
        if args.fault:
            return int(np.argmax(online.predict(state[None], verbose=0)[0]))
        return int(best_phase(state[None])[0])

    road, memory = Junction(5), Memory(2000)
    state = road.reset()
    for _ in range(400):
        action = int(rng.integers(PHASES))
        after, reward, done = road.tick(action)
        memory.add(state, action, reward, after, done)
        state = road.reset() if done else after

    losses = deque(maxlen=50)

    def iteration():
        nonlocal state
        for _ in range(TICKS_PER_UPDATE):
            action = choose(state)
            after, reward, done = road.tick(action)
            memory.add(state, action, reward, after, done)
            state = road.reset() if done else after
        losses.append(update(*memory.draw(rng)))

    for _ in range(10):
        iteration()
    tf.profiler.experimental.start(args.logdir)
    for step in range(10, 20):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            iteration()
    tf.profiler.experimental.stop()
    print(f"mean loss {np.mean([float(x) for x in losses]):.4f}")


if __name__ == "__main__":
    main()
