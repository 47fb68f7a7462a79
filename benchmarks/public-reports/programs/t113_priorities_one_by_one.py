import operator
import os
import random

import keras
import numpy as np
import tensorflow as tf

CAPACITY, BATCH, ALPHA, BETA = 2**15, 256, 0.6, 0.4
PUSHES = np.array([[0.0, -0.05, 0.0, 0.08], [0.0, 0.05, 0.0, -0.08]])


class SegmentTree:
    def __init__(self, capacity, operation, neutral):
        self._capacity, self._operation, self.value = capacity, operation, [neutral] * (2 * capacity)

    def __setitem__(self, idx, val):
        idx += self._capacity
        self.value[idx] = val
        while idx > 1:
            idx //= 2
            self.value[idx] = self._operation(self.value[2 * idx], self.value[2 * idx + 1])

    def find_prefixsum_idx(self, prefixsum):
        idx = 1
        while idx < self._capacity:
            idx *= 2
            if self.value[idx] <= prefixsum:
                prefixsum -= self.value[idx]
                idx += 1
        return idx - self._capacity


class PrioritizedReplayBuffer:
    def __init__(self, size):
        self._storage, self._it_sum = [], SegmentTree(size, operator.add, 0.0)
        self._it_min = SegmentTree(size, min, float("inf"))

    def add(self, *transition):
        self._storage.append(transition)
        self.update_priorities([len(self._storage) - 1], [1.0])

    def sample(self, batch_size, beta):
        total, least = self._it_sum.value[1], self._it_min.value[1]
        idxes = [self._it_sum.find_prefixsum_idx(random.random() * total) for _ in range(batch_size)]
        weights = [(self._it_sum.value[CAPACITY + idx] / least) ** (-beta) for idx in idxes]
        columns = zip(*(self._storage[idx] for idx in idxes))
        return [np.array(column, "float32") for column in columns] + [np.array(weights, "float32"), idxes]

    def update_priorities(self, idxes, priorities):
        for idx, priority in zip(idxes, priorities):
            self._it_sum[idx] = self._it_min[idx] = priority**ALPHA


keras.utils.set_random_seed(0)
q = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(2)])
optimizer = keras.optimizers.Adam(5e-4)


@tf.function
def train(obs, actions, rewards, obs_next, weights):
    target = rewards + 0.98 * tf.reduce_max(q(obs_next), 1)
    with tf.GradientTape() as tape:
        error = tf.reduce_sum(q(obs) * tf.one_hot(tf.cast(actions, tf.int32), 2), 1) - target
        loss = tf.reduce_mean(weights * error**2)
    optimizer.apply(tape.gradient(loss, q.trainable_variables), q.trainable_variables)
    return tf.abs(error)


buffer, obs = PrioritizedReplayBuffer(CAPACITY), np.zeros(4)
for step in range(int(os.environ.get("STEPS", 3000))):
    action = random.randrange(2)
    obs_next = np.clip(obs + np.random.normal(PUSHES[action], 0.02), -1, 1)
    buffer.add(obs, action, 1.0 - abs(obs_next[2]), obs_next)
    obs = obs_next
    *batch, idxes = buffer.sample(BATCH, BETA)
    td_errors = train(*(tf.constant(column) for column in batch)).numpy()
    buffer.update_priorities(idxes, td_errors + 1e-6)
    if step % 500 == 0:
        print(step, float(td_errors.mean()), flush=True)
