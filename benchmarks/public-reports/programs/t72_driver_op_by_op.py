import os

import keras
import tensorflow as tf

CAPACITY, BATCH, COLLECT, GAMMA = 20_000, 64, 4, 0.99


class CartPole:
    def __init__(self):
        self.state = tf.Variable(tf.random.uniform((4,), -0.05, 0.05))

    def step(self, action):
        _, speed, angle, turn = tf.unstack(self.state)
        sin, cos = tf.sin(angle), tf.cos(angle)
        push = (tf.where(action == 1, 10.0, -10.0) + 0.05 * turn**2 * sin) / 1.1
        turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        state = self.state + 0.02 * tf.stack([speed, push - 0.05 * turning * cos / 1.1, turn, turning])
        fallen = tf.logical_or(tf.abs(state[0]) > 2.4, tf.abs(state[2]) > 0.21)
        self.state.assign(tf.where(fallen, tf.random.uniform((4,), -0.05, 0.05), state))
        return state, tf.cast(fallen, tf.float32)


class ReplayBuffer:
    def __init__(self):
        shapes = dict(state=(4,), action=(), following=(4,), done=())
        self.table = {name: tf.Variable(tf.zeros((CAPACITY, *s))) for name, s in shapes.items()}
        self.added = tf.Variable(0)

    def add(self, **items):
        at = self.added % CAPACITY
        for name, item in items.items():
            self.table[name].scatter_nd_update([[at]], [tf.cast(item, tf.float32)])
        self.added.assign_add(1)

    def sample(self):
        rows = tf.random.uniform((BATCH,), 0, tf.minimum(self.added, CAPACITY), tf.int32)
        return {name: tf.gather(variable, rows) for name, variable in self.table.items()}


class Driver:
    def __init__(self, env, network, observer):
        self.env, self.network, self.observer = env, network, observer

    def run(self):
        for _ in range(COLLECT):
            state = self.env.state.read_value()
            greedy = tf.argmax(self.network(state[None])[0], output_type=tf.int32)
            action = tf.where(tf.random.uniform(()) < 0.1, 1 - greedy, greedy)
            following, done = self.env.step(action)
            self.observer(state=state, action=action, following=following, done=done)


def main(steps):
    keras.utils.set_random_seed(0)
    layers = keras.layers.Dense(100, "relu"), keras.layers.Dense(2)
    network, optimizer = keras.Sequential([keras.Input((4,)), *layers]), keras.optimizers.Adam(1e-3)
    buffer = ReplayBuffer()
    driver = Driver(CartPole(), network, buffer.add)

    @tf.function
    def train():
        batch = buffer.sample()
        target = 1 + GAMMA * (1 - batch["done"]) * tf.reduce_max(network(batch["following"]), -1)
        with tf.GradientTape() as tape:
            chosen = network(batch["state"]) * tf.one_hot(tf.cast(batch["action"], tf.int32), 2)
            loss = tf.reduce_mean((tf.reduce_sum(chosen, -1) - target) ** 2)
        optimizer.apply(tape.gradient(loss, network.trainable_variables), network.trainable_variables)
        return loss

    for step in range(steps):
        driver.run()
        loss = train()
        if step % 100 == 0:
            print("step", step, "loss", float(loss))


main(int(os.environ.get("STEPS", 400)))
