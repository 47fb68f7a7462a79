import os

import keras
import numpy as np
import tensorflow as tf

STATES, ACTIONS, BATCH, GAMMA, TAU = 3, 1, 64, 0.99, 0.005


class Pendulum:
    """A rod that is to be swung up and held there."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def observe(self):
        return np.array([np.cos(self.angle), np.sin(self.angle), self.speed], "float32")

    def reset(self):
        self.angle, self.speed = self.rng.uniform(-np.pi, np.pi), self.rng.uniform(-1, 1)
        return self.observe()

    def step(self, torque):
        angle = (self.angle + np.pi) % (2 * np.pi) - np.pi
        reward = -(angle**2 + 0.1 * self.speed**2 + 0.001 * torque**2)
        self.speed = np.clip(self.speed + 0.05 * (15 * np.sin(self.angle) + 3 * torque), -8, 8)
        self.angle += 0.05 * self.speed
        return self.observe(), reward


def get_actor():
    state = keras.layers.Input((STATES,))
    x = keras.layers.Dense(256, activation="relu")(state)
    x = keras.layers.Dense(256, activation="relu")(x)
    return keras.Model(state, 2 * keras.layers.Dense(ACTIONS, activation="tanh")(x))


def get_critic():
    state, action = keras.layers.Input((STATES,)), keras.layers.Input((ACTIONS,))
    s = keras.layers.Dense(32, activation="relu")(keras.layers.Dense(16, activation="relu")(state))
    a = keras.layers.Dense(32, activation="relu")(action)
    x = keras.layers.Dense(256, activation="relu")(keras.layers.Concatenate()([s, a]))
    x = keras.layers.Dense(256, activation="relu")(x)
    return keras.Model([state, action], keras.layers.Dense(1)(x))


actor, critic, target_actor, target_critic = get_actor(), get_critic(), get_actor(), get_critic()
target_actor.set_weights(actor.get_weights())
target_critic.set_weights(critic.get_weights())
actor_optimizer, critic_optimizer = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(2e-3)


class Buffer:
    def __init__(self, capacity=50_000):
        self.capacity, self.count = capacity, 0
        self.parts = [np.zeros((capacity, size), "float32") for size in (STATES, ACTIONS, 1, STATES)]

    def record(self, *values):
        for part, value in zip(self.parts, values):
            part[self.count % self.capacity] = value
        self.count += 1

    def learn(self):
        chosen = np.random.choice(min(self.count, self.capacity), BATCH)
        state, action, reward, next_state = (tf.convert_to_tensor(part[chosen]) for part in self.parts)
        with tf.GradientTape() as tape:
            target_action = target_actor(next_state, training=True)
            y = reward + GAMMA * target_critic([next_state, target_action], training=True)
            critic_loss = tf.reduce_mean(tf.square(y - critic([state, action], training=True)))
        gradients = tape.gradient(critic_loss, critic.trainable_variables)
        critic_optimizer.apply_gradients(zip(gradients, critic.trainable_variables))

        with tf.GradientTape() as tape:
            actor_loss = -tf.reduce_mean(critic([state, actor(state, training=True)], training=True))
        gradients = tape.gradient(actor_loss, actor.trainable_variables)
        actor_optimizer.apply_gradients(zip(gradients, actor.trainable_variables))


def update_target(target, weights):
    for old, new in zip(target.variables, weights):
        old.assign(new * TAU + old * (1 - TAU))


def policy(state, noise):
    action = actor(tf.convert_to_tensor(state[None])).numpy()[0, 0]
    return np.clip(action + noise, -2, 2)


def main(steps):
    keras.utils.set_random_seed(0)
    env, buffer, rewards = Pendulum(), Buffer(), []
    for step in range(steps):
        if step % 50 == 0:
            state = env.reset()
            print(f"step {step}: mean reward {np.mean(rewards[-50:] or 0):.3f}", flush=True)
        action = policy(state, np.random.normal(0, 0.2))
        next_state, reward = env.step(action)
        buffer.record(state, action, reward, next_state)
        rewards.append(reward)
        buffer.learn()
        update_target(target_actor, actor.variables)
        update_target(target_critic, critic.variables)
        state = next_state


main(int(os.environ.get("STEPS", 280)))
