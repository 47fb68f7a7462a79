"""PPO for a bank of elevators, on rollouts that the building simulators leave in a queue."""
import argparse
import collections

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FLOORS, CARS, ACTIONS = 24, 4, 12
OBS = FLOORS * 4 + CARS * 8
HORIZON, BUILDINGS, MINIBATCHES = 96, 24, 4
GAMMA, LAMBDA = 0.99, 0.95
Rollout = collections.namedtuple("Rollout", "obs action logp reward done last_obs")


def simulator_queue(rng, count):
    queue = collections.deque()
    for _ in range(count):
        shape = (HORIZON, BUILDINGS)
        queue.append(
            Rollout(
                obs=rng.normal(size=(*shape, OBS)).astype(np.float32),
                action=rng.integers(0, ACTIONS, shape).astype(np.int32),
                logp=np.full(shape, -np.log(ACTIONS), np.float32),
                reward=-rng.gamma(2.0, 1.0, shape).astype(np.float32),
                done=(rng.random(shape) < 0.01).astype(np.float32),
                last_obs=rng.normal(size=(BUILDINGS, OBS)).astype(np.float32),
            )
        )
    return queue


def make_agent():
    inputs = keras.Input((OBS,))
    x = layers.Dense(320, activation="tanh")(inputs)
    x = layers.Dense(320, activation="tanh")(x)
    policy = layers.Dense(ACTIONS)(layers.Dense(192, activation="tanh")(x))
    value = layers.Dense(1)(layers.Dense(192, activation="tanh")(x))
    return keras.Model(inputs, [policy, value])


agent = make_agent()
optimizer = keras.optimizers.Adam(3e-4, clipnorm=0.5)


@tf.function
def evaluate(obs):
    return agent(obs)[1][:, 0]


@tf.function
def update(obs, action, old_logp, advantage, target):
    with tf.GradientTape() as tape:
        logits, value = agent(obs, training=True)
        logps = tf.nn.log_softmax(logits)
        logp = tf.gather(logps, action, batch_dims=1)
        ratio = tf.exp(logp - old_logp)
        surrogate = tf.minimum(ratio * advantage, tf.clip_by_value(ratio, 0.8, 1.2) * advantage)
        entropy = -tf.reduce_sum(tf.exp(logps) * logps, -1)
        value_loss = tf.reduce_mean(tf.square(value[:, 0] - target))
        loss = -tf.reduce_mean(surrogate) + 0.5 * value_loss - 0.01 * tf.reduce_mean(entropy)
    variables = agent.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def numpy_gae(reward, done, values):
    values = values.numpy()
    advantage = np.zeros_like(reward)
    running = np.zeros(BUILDINGS, np.float32)
    for t in reversed(range(HORIZON)):
        alive = 1.0 - done[t]
        delta = reward[t] + GAMMA * values[t + 1] * alive - values[t]
        running = delta + GAMMA * LAMBDA * alive * running
        advantage[t] = running
    return advantage, advantage + values[:-1]


def tensor_gae(reward, done, values):
    reward, done = tf.convert_to_tensor(reward), tf.convert_to_tensor(done)
    advantages = []
    running = tf.zeros(BUILDINGS)
    for t in reversed(range(HORIZON)):
        alive = 1.0 - done[t]
        delta = reward[t] + GAMMA * values[t + 1] * alive - values[t]
        running = delta + GAMMA * LAMBDA * alive * running
        advantages.append(running)
    advantage = tf.stack(advantages[::-1])
    return advantage, advantage + values[:-1]


def learn(rollout, gae, rng):
    flat = rollout.obs.reshape(-1, OBS)
    values = evaluate(tf.constant(np.concatenate([flat, rollout.last_obs])))
    advantage, target = gae(rollout.reward, rollout.done, tf.reshape(values, [HORIZON + 1, BUILDINGS]))
    advantage, target = np.reshape(advantage, -1), np.reshape(target, -1)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    action, logp = rollout.action.reshape(-1), rollout.logp.reshape(-1)
    for rows in np.split(rng.permutation(HORIZON * BUILDINGS), MINIBATCHES):
        loss = update(flat[rows], action[rows], logp[rows], advantage[rows], target[rows])
    return float(loss)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    gae = tensor_gae if args.fault else numpy_gae
    rng = np.random.default_rng(5)
    queue = simulator_queue(rng, 18)
    optimizer.build(agent.trainable_variables)
    for _ in range(6):
        learn(queue.popleft(), gae, rng)

    losses = []
    with tf.profiler.experimental.Profile(args.logdir):
        for step in range(12):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                losses.append(learn(queue.popleft(), gae, rng))
    print("loss", np.mean(losses))


if __name__ == "__main__":
    main()
