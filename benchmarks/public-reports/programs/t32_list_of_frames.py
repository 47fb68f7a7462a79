import os
import random

import keras
import numpy as np
import tensorflow as tf

FRAME, ACTIONS, BATCH, CAPACITY = (48, 48, 3), 6, 32, 2000


class ReplayMemory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.transitions = []

    def push(self, state, action, reward, next_state):
        self.transitions.append((state, action, reward, next_state))
        del self.transitions[: -self.capacity]

    def sample(self, size):
        return zip(*random.sample(self.transitions, size))


def build_network():
    return keras.Sequential(
        [
            keras.layers.Input(FRAME),
            keras.layers.Conv2D(16, 8, strides=4, activation="relu"),
            keras.layers.Conv2D(32, 4, strides=2, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(ACTIONS),
        ]
    )


keras.utils.set_random_seed(0)
online, target = build_network(), build_network()
optimizer = keras.optimizers.Adam(1e-4)


@tf.function
def train_step(states, actions, rewards, next_states):
    wanted = rewards + 0.99 * tf.reduce_max(target(next_states), axis=1)
    with tf.GradientTape() as tape:
        chosen = tf.reduce_sum(online(states) * tf.one_hot(actions, ACTIONS), axis=1)
        loss = tf.reduce_mean((chosen - wanted) ** 2)
    optimizer.apply(tape.gradient(loss, online.trainable_variables), online.trainable_variables)
    return loss


def main(steps):
    rng = np.random.default_rng(0)
    memory = ReplayMemory(CAPACITY)
    frames = rng.random((CAPACITY, *FRAME), dtype="float32")
    for i in range(CAPACITY - 1):
        memory.push(frames[i], i % ACTIONS, float(frames[i].mean()), frames[i + 1])
    for step in range(steps):
        states, actions, rewards, next_states = memory.sample(BATCH)
        states = tf.convert_to_tensor(states, dtype=tf.float32)
        next_states = tf.convert_to_tensor(next_states, dtype=tf.float32)
        loss = train_step(states, tf.constant(actions), tf.constant(rewards), next_states)
        if step % 50 == 0:
            target.set_weights(online.get_weights())
            print(step, float(loss))


main(int(os.environ.get("STEPS", 300)))
