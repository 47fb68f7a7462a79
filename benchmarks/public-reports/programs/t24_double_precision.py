import os

import keras
import numpy as np
import tensorflow as tf

keras.backend.set_floatx("float64")
OBSERVATION, ACTION, BATCH = 24, 4, 256


class ReplayBuffer:
    def __init__(self, size):
        rng = np.random.default_rng(0)
        self.rows = rng.normal(size=(size, 2 * OBSERVATION + ACTION + 1))
        self.rng = rng

    def sample(self, batch_size):
        rows = self.rows[self.rng.integers(0, len(self.rows), batch_size)]
        ends = np.cumsum([OBSERVATION, ACTION, OBSERVATION])
        return np.split(rows, ends, axis=1)


def network(inputs, outputs):
    return keras.Sequential(
        [
            keras.layers.Input((inputs,)),
            keras.layers.Dense(400, activation="relu"),
            keras.layers.Dense(300, activation="relu"),
            keras.layers.Dense(outputs),
        ]
    )


class DDPG:
    def __init__(self):
        self.actor = network(OBSERVATION, ACTION)
        self.critic = network(OBSERVATION + ACTION, 1)
        self.actor_optimizer = keras.optimizers.Adam(1e-3)
        self.critic_optimizer = keras.optimizers.Adam(1e-3)

    @tf.function
    def train(self, states, actions, next_states, rewards):
        with tf.GradientTape() as tape:
            later = self.critic(tf.concat([next_states, tf.tanh(self.actor(next_states))], 1))
            target = tf.stop_gradient(rewards + 0.99 * later)
            loss = tf.reduce_mean((self.critic(tf.concat([states, actions], 1)) - target) ** 2)
        variables = self.critic.trainable_variables
        self.critic_optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        with tf.GradientTape() as tape:
            value = self.critic(tf.concat([states, tf.tanh(self.actor(states))], 1))
            actor_loss = -tf.reduce_mean(value)
        variables = self.actor.trainable_variables
        self.actor_optimizer.apply_gradients(zip(tape.gradient(actor_loss, variables), variables))
        return loss


def main(steps):
    policy, buffer = DDPG(), ReplayBuffer(100_000)
    for step in range(steps):
        samples = [tf.constant(part) for part in buffer.sample(BATCH)]
        loss = policy.train(*samples)
        if step % 50 == 0:
            print(step, float(loss))


main(int(os.environ.get("STEPS", 900)))
