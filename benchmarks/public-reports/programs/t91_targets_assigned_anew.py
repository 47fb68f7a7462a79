import os
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
STATES, ACTIONS, BATCH, TAU = 3, 1, 64, 0.001


def make_net(inputs, num_inputs, outputs, hidden=(200, 150)):
    parameters, x, size = [], inputs, num_inputs
    for units in hidden + (outputs,):
        x = tf.nn.relu(x) if parameters else x
        w = tf.Variable(tf.random_uniform([size, units], -(size**-0.5), size**-0.5, seed=size))
        b = tf.Variable(tf.zeros([units]))
        x = tf.matmul(x, w) + b
        parameters, size = parameters + [w, b], units
    return parameters, x


class ActorNet:
    def __init__(self):
        with tf.Graph().as_default():
            self.sess = tf.Session()
            self.state_in = tf.placeholder(tf.float32, [None, STATES])
            self.params, self.model = make_net(self.state_in, STATES, ACTIONS)
            self.t_params, self.t_model = make_net(self.state_in, STATES, ACTIONS)
            self.q_gradient = tf.placeholder(tf.float32, [None, ACTIONS])
            grads = tf.gradients(self.model, self.params, -self.q_gradient / BATCH)
            self.train = tf.train.AdamOptimizer(1e-4).apply_gradients(zip(grads, self.params))
            self.sess.run(tf.global_variables_initializer())
            self.sess.run([t.assign(p) for t, p in zip(self.t_params, self.params)])

    def update_target_actor(self):
        self.sess.run([t.assign(TAU * p + (1 - TAU) * t) for t, p in zip(self.t_params, self.params)])


class CriticNet:
    def __init__(self):
        with tf.Graph().as_default():
            self.sess = tf.Session()
            self.state_in = tf.placeholder(tf.float32, [None, STATES])
            self.action_in = tf.placeholder(tf.float32, [None, ACTIONS])
            both = tf.concat([self.state_in, self.action_in], 1)
            (self.params, self.q), (self.t_params, self.t_q) = (make_net(both, STATES + ACTIONS, 1) for _ in range(2))
            self.q_in = tf.placeholder(tf.float32, [None, 1])
            self.cost = tf.losses.mean_squared_error(self.q_in, self.q)
            self.train = tf.train.AdamOptimizer(1e-3).minimize(self.cost, var_list=self.params)
            self.action_gradients = tf.gradients(self.q, self.action_in)[0]
            self.sess.run(tf.global_variables_initializer())
            self.sess.run([t.assign(p) for t, p in zip(self.t_params, self.params)])

    def update_target_critic(self):
        self.sess.run([t.assign(TAU * p + (1 - TAU) * t) for t, p in zip(self.t_params, self.params)])


def pendulum(angle, speed, torque):
    speed = np.clip(speed + (15 * np.sin(angle) + 3 * np.clip(torque, -2, 2)) * 0.05, -8, 8)
    return angle + speed * 0.05, speed, np.cos(angle) - 0.01 * speed**2


rng, actor, critic, memory = np.random.default_rng(0), ActorNet(), CriticNet(), []
angle, speed, began = np.pi, 0.0, time.time()
for step in range(int(os.environ.get("STEPS", 110))):
    state = [np.cos(angle), np.sin(angle), speed]
    action = actor.sess.run(actor.model, {actor.state_in: [state]})[0] + rng.normal(0, 0.3, ACTIONS)
    angle, speed, reward = pendulum(angle, speed, action.item())
    memory.append((state, action, reward, [np.cos(angle), np.sin(angle), speed]))
    s, a, r, s1 = (np.array(part) for part in zip(*[memory[i] for i in rng.integers(len(memory), size=BATCH)]))
    target = {critic.state_in: s1, critic.action_in: actor.sess.run(actor.t_model, {actor.state_in: s1})}
    y = r[:, None] + 0.99 * critic.sess.run(critic.t_q, target)
    cost, _ = critic.sess.run([critic.cost, critic.train], {critic.state_in: s, critic.action_in: a, critic.q_in: y})
    a_now = actor.sess.run(actor.model, {actor.state_in: s})
    gradient = critic.sess.run(critic.action_gradients, {critic.state_in: s, critic.action_in: a_now})
    actor.sess.run(actor.train, {actor.state_in: s, actor.q_gradient: gradient})
    critic.update_target_critic()
    actor.update_target_actor()
    if step % 10 == 0:
        print(f"step {step}: cost {cost:.3f}, reward {r.mean():.2f}, {time.time() - began:.1f} s", flush=True)
