"""Double DQN with prioritized replay for dispatching the lifts of an office tower."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

CAPACITY, STATE, ACTIONS, BATCH, CARS = 1 << 20, 26, 24, 512, 64
ALPHA, BETA, GAMMA = 0.6, 0.4, 0.99


class ProportionalSampler:
    def __init__(self, capacity):
        self.priorities = np.zeros(capacity)

    def update(self, index, priority):
        self.priorities[index] = priority

    def draw(self, rng, size):
        p = self.priorities**ALPHA
        p /= p.sum()
        index = rng.choice(len(p), size, p=p)
        return index, p[index]


class TreeSampler:
    def __init__(self, capacity):
        self.levels = [np.zeros(1 << k) for k in range(capacity.bit_length())]

    def update(self, index, priority):
        self.levels[-1][index] = priority**ALPHA
        for parent, child in zip(self.levels[-2::-1], self.levels[:0:-1]):
            index = index >> 1
            parent[index] = child[2 * index] + child[2 * index + 1]

    def draw(self, rng, size):
        total = self.levels[0][0]
        mass = (np.arange(size) + rng.random(size)) / size * total
        node = np.zeros(size, np.int64)
        for child in self.levels[1:]:
            left = child[2 * node]
            right = mass >= left
            mass = np.where(right, mass - left, mass)
            node = 2 * node + right
        return node, self.levels[-1][node] / total


class Replay:
    def __init__(self, sampler, rng):
        self.sampler, self.rng, self.head = sampler, rng, 0
        self.state = rng.standard_normal((CAPACITY, STATE), np.float32)
        self.following = rng.standard_normal((CAPACITY, STATE), np.float32)
        self.action = rng.integers(0, ACTIONS, CAPACITY, np.int32)
        self.reward = rng.standard_normal(CAPACITY, np.float32)
        sampler.update(np.arange(CAPACITY), rng.gamma(1.0, 1.0, CAPACITY) + 1e-3)

    def add(self, state, action, reward, following):
        rows = (self.head + np.arange(len(state))) % CAPACITY
        self.state[rows], self.following[rows] = state, following
        self.action[rows], self.reward[rows] = action, reward
        self.sampler.update(rows, np.full(len(rows), 2.0))
        self.head = (self.head + len(rows)) % CAPACITY

    def sample(self):
        rows, p = self.sampler.draw(self.rng, BATCH)
        weight = (CAPACITY * p) ** -BETA
        weight = (weight / weight.max()).astype(np.float32)
        return rows, (self.state[rows], self.action[rows], self.reward[rows], self.following[rows], weight)


def q_network():
    inputs = keras.Input((STATE,))
    x = inputs
    for units in (512, 640, 512):
        x = layers.Dense(units, activation="swish")(x)
    value, advantage = layers.Dense(1)(x), layers.Dense(ACTIONS)(x)
    mean = keras.ops.mean(advantage, -1, keepdims=True)
    return keras.Model(inputs, layers.Add()([value, advantage - mean]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    keras.utils.set_random_seed(4)
    rng = np.random.default_rng(4)
    online, target = q_network(), q_network()
    target.set_weights(online.get_weights())
    optimizer = keras.optimizers.Adam(2.5e-4, clipnorm=10.0)
    replay = Replay((ProportionalSampler if args.fault else TreeSampler)(CAPACITY), rng)

    @tf.function
    def act(state):
        return tf.argmax(online(state), -1, tf.int32)

    @tf.function
    def learn(state, action, reward, following, weight):
        best = tf.argmax(online(following), -1, tf.int32)
        goal = reward + GAMMA * tf.gather(target(following), best, batch_dims=1)
        with tf.GradientTape() as tape:
            q = tf.gather(online(state), action, batch_dims=1)
            error = tf.stop_gradient(goal) - q
            loss = tf.reduce_mean(weight * tf.where(tf.abs(error) < 1, 0.5 * error**2, tf.abs(error) - 0.5))
        optimizer.apply_gradients(zip(tape.gradient(loss, online.trainable_variables), online.trainable_variables))
        for slow, fast in zip(target.trainable_variables, online.trainable_variables):
            slow.assign_add(0.005 * (fast - slow))
        return loss, error

    tower = rng.standard_normal((CARS, STATE), np.float32)
    drift = 0.1 * rng.standard_normal((ACTIONS, STATE), np.float32)

    def iteration(tower):
        action = act(tower).numpy()
        action = np.where(rng.random(CARS) < 0.05, rng.integers(0, ACTIONS, CARS), action)
        following = np.tanh(tower + drift[action] + 0.05 * rng.standard_normal((CARS, STATE), np.float32))
        replay.add(tower, action, -np.abs(following[:, :8]).sum(-1), following)
        rows, batch = replay.sample()
        _, error = learn(*(tf.constant(part) for part in batch))
        replay.sampler.update(rows, np.abs(error.numpy()) + 1e-3)
        return following

    for _ in range(8):
        tower = iteration(tower)
    with tf.profiler.experimental.Profile(args.logdir):
        for step in range(12):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                tower = iteration(tower)


if __name__ == "__main__":
    main()
