import os

import keras
import numpy as np
import tensorflow as tf

LENGTH, OBSERVATION, ACTIONS = 500, 16, 4


@tf.function
def generalized_advantages(rewards, values, dones):
    advantages = tf.TensorArray(tf.float32, size=LENGTH)
    following = tf.constant(0.0)
    last = tf.constant(0.0)
    for step in tf.range(LENGTH - 1, -1, -1):
        if dones[step]:
            last = rewards[step] - values[step]
        else:
            delta = rewards[step] + 0.99 * following - values[step]
            last = delta + 0.99 * 0.95 * last
        following = values[step]
        advantages = advantages.write(step, last)
    return advantages.stack()


model = keras.Sequential(
    [keras.layers.Input((OBSERVATION,)), keras.layers.Dense(64, "tanh"), keras.layers.Dense(ACTIONS + 1)]
)
optimizer = keras.optimizers.Adam(3e-4)


@tf.function
def value_of(observations):
    return model(observations)[:, -1]


@tf.function
def update(observations, actions, advantages, returns):
    with tf.GradientTape() as tape:
        outputs = model(observations, training=True)
        log_probs = tf.nn.log_softmax(outputs[:, :-1])
        chosen = tf.gather(log_probs, actions, batch_dims=1)
        loss = tf.reduce_mean(-chosen * advantages + 0.5 * (outputs[:, -1] - returns) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def train(updates):
    rng = np.random.default_rng(0)
    for number in range(updates):
        observations = tf.constant(rng.normal(size=(LENGTH, OBSERVATION)), tf.float32)
        actions = tf.constant(rng.integers(0, ACTIONS, LENGTH))
        rewards = tf.constant(rng.normal(size=LENGTH), tf.float32)
        dones = tf.constant(rng.random(LENGTH) < 0.02)
        values = value_of(observations)
        advantages = generalized_advantages(rewards, values, dones)
        loss = update(observations, actions, advantages, advantages + values)
        if number % 50 == 0:
            print(number, float(loss))


train(int(os.environ.get("STEPS", 2000)))
