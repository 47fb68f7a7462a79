import os
import random
import time
from collections import deque

import keras
import numpy as np
import tensorflow as tf

ACTIONS, BATCH, LIMIT = 4, 64, 80
PUSH = np.array([(0.0, -0.04), (0.03, -0.04), (0.0, 0.04), (-0.03, -0.04)], "float32")


class Lander:
    def reset(self):
        self.state, self.steps = np.array([random.uniform(-0.5, 0.5), 1, 0, 0], "float32"), 0
        return self.state

    def step(self, action):
        velocity = self.state[2:] + PUSH[action]
        self.state = np.concatenate([self.state[:2] + 0.05 * velocity, velocity])
        self.steps += 1
        landed, reward = self.state[1] <= 0, -0.1 * abs(self.state[0]) - 0.02 * (action > 0)
        if landed:
            reward += 1.0 if np.abs(velocity).max() < 0.5 else -1.0
        return self.state, reward, bool(landed or self.steps >= LIMIT)


class DuelingDeepQNetwork(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense1, self.dense2 = keras.layers.Dense(64, "relu"), keras.layers.Dense(64, "relu")
        self.V, self.A = keras.layers.Dense(1), keras.layers.Dense(ACTIONS)

    def call(self, state):
        x = self.dense2(self.dense1(state))
        A = self.A(x)
        return self.V(x) + (A - tf.reduce_mean(A, axis=1, keepdims=True))


class Agent:
    def __init__(self, gamma=0.99, replace=100):
        self.gamma, self.replace, self.epsilon, self.learned = gamma, replace, 1.0, 0
        self.memory, self.q_eval, self.q_next = deque(maxlen=5000), DuelingDeepQNetwork(), DuelingDeepQNetwork()
        self.q_eval.compile(keras.optimizers.Adam(1e-3), "mse")

    def choose_action(self, state):
        if random.random() < self.epsilon:
            return random.randrange(ACTIONS)
        return int(tf.math.argmax(self.q_eval(state[None]), axis=1)[0])

    def learn(self):
        states, actions, rewards, states_, dones = map(np.array, zip(*random.sample(self.memory, BATCH)))
        q_target = self.q_eval(states).numpy()
        q_next = self.q_next(states_)
        if self.learned % self.replace == 0:
            self.q_next.set_weights(self.q_eval.get_weights())
        max_actions = tf.math.argmax(self.q_eval(states_), axis=1)
        for idx, terminal in enumerate(dones):
            future = self.gamma * q_next[idx, max_actions[idx]] * (1 - int(terminal))
            q_target[idx, actions[idx]] = rewards[idx] + future
        self.q_eval.train_on_batch(states, q_target)
        self.epsilon, self.learned = max(self.epsilon - 1e-3, 0.05), self.learned + 1


random.seed(0)
keras.utils.set_random_seed(0)
env, agent, start, scores, score = Lander(), Agent(), time.time(), [], 0.0
observation = env.reset()
for step in range(1, int(os.environ.get("STEPS", 220)) + 1):
    action = agent.choose_action(observation)
    new_observation, reward, done = env.step(action)
    agent.memory.append((observation, action, reward, new_observation, done))
    if len(agent.memory) >= BATCH:
        agent.learn()
    observation, score = new_observation, score + reward
    if done:
        scores.append(score)
        print(f"step {step}, {time.time() - start:.1f} s, score {score:.2f}, mean {np.mean(scores[-20:]):.2f}", flush=True)
        observation, score = env.reset(), 0.0
