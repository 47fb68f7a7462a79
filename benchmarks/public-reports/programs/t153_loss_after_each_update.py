import os

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()
OBS_DIM, ACTION_DIM, HIDDEN, CONDITIONS, SAMPLES, TIMES = 26, 7, 42, 4, 5, 100
BATCH_SIZE, ITERATIONS = 25, 1000


def example_tf_network():
    obs = tf1.placeholder(tf.float32, (None, OBS_DIM))
    action = tf1.placeholder(tf.float32, (None, ACTION_DIM))
    precision = tf1.placeholder(tf.float32, (None, ACTION_DIM, ACTION_DIM))
    layer, sizes = obs, [OBS_DIM, HIDDEN, HIDDEN, ACTION_DIM]
    for i, (rows, cols) in enumerate(zip(sizes, sizes[1:])):
        weights = tf1.get_variable(f"w_{i}", (rows, cols), initializer=tf1.random_normal_initializer(stddev=0.1))
        bias = tf1.get_variable(f"b_{i}", (cols,), initializer=tf1.zeros_initializer())
        layer = tf.matmul(layer, weights) + bias
        layer = tf.nn.relu(layer) if i < 2 else layer
    residual = (action - layer)[:, :, None]
    loss = tf.reduce_mean(tf.matmul(residual, tf.matmul(precision, residual), transpose_a=True))
    return obs, action, precision, layer, loss


class TfSolver:
    def __init__(self, loss_scalar, base_lr=0.001, momentum=0.9):
        self.loss_scalar = loss_scalar
        self.solver_op = tf1.train.MomentumOptimizer(base_lr, momentum).minimize(loss_scalar)

    def __call__(self, feed_dict, sess):
        sess.run(self.solver_op, feed_dict)


class PolicyOptTf:
    def __init__(self):
        self.obs_tensor, self.action_tensor, self.precision_tensor, self.act_op, self.loss_scalar = example_tf_network()
        self.solver = TfSolver(self.loss_scalar)
        self.sess = tf1.Session()
        self.sess.run(tf1.global_variables_initializer())

    def update(self, obs, tgt_mu, tgt_prc):
        idx, average_loss = np.arange(len(obs)), 0.0
        np.random.shuffle(idx)
        batches_per_epoch = len(obs) // BATCH_SIZE
        for i in range(ITERATIONS):
            start_idx = i * BATCH_SIZE % (batches_per_epoch * BATCH_SIZE)
            idx_i = idx[start_idx : start_idx + BATCH_SIZE]
            feed_dict = {
                self.obs_tensor: obs[idx_i],
                self.action_tensor: tgt_mu[idx_i],
                self.precision_tensor: tgt_prc[idx_i],
            }
            self.solver(feed_dict, self.sess)
            train_loss = self.sess.run(self.loss_scalar, feed_dict)
            average_loss += train_loss
        return average_loss / ITERATIONS

    def act(self, obs):
        return self.sess.run(self.act_op, {self.obs_tensor: obs})


def linear_gaussian_targets(obs):
    gains = np.random.normal(0, 0.3, (CONDITIONS, OBS_DIM, ACTION_DIM))
    mean = np.einsum("csto,coa->csta", obs, gains) + np.random.normal(0, 0.1, obs.shape[:3] + (ACTION_DIM,))
    factor = np.random.normal(0, 0.3, obs.shape[:3] + (ACTION_DIM, ACTION_DIM))
    return mean, factor @ factor.swapaxes(-1, -2) + 0.5 * np.eye(ACTION_DIM)


np.random.seed(0)
tf1.set_random_seed(0)
policy_opt = PolicyOptTf()
flatten = lambda x, dims: x.reshape((-1,) + x.shape[-dims:]).astype("float32")
for itr in range(int(os.environ.get("STEPS", 15))):
    obs = np.random.normal(size=(CONDITIONS, SAMPLES, TIMES, OBS_DIM)).cumsum(2) / 10
    tgt_mu, tgt_prc = linear_gaussian_targets(obs)
    loss = policy_opt.update(flatten(obs, 1), flatten(tgt_mu, 1), flatten(tgt_prc, 2))
    cost = float(np.mean((policy_opt.act(flatten(obs, 1)) - flatten(tgt_mu, 1)) ** 2))
    print(f"iteration {itr} average loss {loss:.4f} imitation error {cost:.4f}", flush=True)
