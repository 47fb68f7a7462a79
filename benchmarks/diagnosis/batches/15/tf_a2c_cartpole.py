"""Advantage actor-critic on a vectorised NumPy cart-pole; one step = rollout + update."""
import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

ENVS, HORIZON, GAMMA, LAM = 16, 64, 0.99, 0.95
WARMUP, UPDATES = 6, 10


class CartPoles:
    def __init__(self, n, seed):
        self.rng = np.random.default_rng(seed)
        self.s = self.rng.uniform(-0.05, 0.05, (n, 4)).astype(np.float32)

    def step(self, a):
        x, v, th, om = self.s.T
        force = np.where(a == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        tmp = (force + 0.05 * om**2 * s) / 1.1
        acc = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        xa = tmp - 0.05 * acc * c / 1.1
        new = np.stack([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * om, om + 0.02 * acc], 1)
        done = (np.abs(new[:, 0]) > 2.4) | (np.abs(new[:, 2]) > 0.21)
        new[done] = self.rng.uniform(-0.05, 0.05, (int(done.sum()), 4))
        self.s = new.astype(np.float32)
        return self.s, np.ones(len(a), np.float32), done.astype(np.float32)


class ActorCritic(tf.Module):
    def __init__(self):
        super().__init__()
        init = tf.random.Generator.from_seed(3)
        dims = [(4, 128), (128, 128), (128, 3)]
        self.w = [tf.Variable(init.normal(d) / np.sqrt(d[0])) for d in dims]
        self.b = [tf.Variable(tf.zeros(d[1])) for d in dims]

    def __call__(self, s):
        h = tf.tanh(s @ self.w[0] + self.b[0])
        h = tf.tanh(h @ self.w[1] + self.b[1])
        out = h @ self.w[2] + self.b[2]
        return out[..., :2], out[..., 2]


net = ActorCritic()
opt = tf.keras.optimizers.RMSprop(7e-4)


@tf.function
def act(s):
    logits, value = net(s)
    a = tf.random.categorical(logits, 1)[:, 0]
    return a, value


@tf.function
def update(s, a, adv, ret):
    with tf.GradientTape() as tape:
        logits, value = net(s)
        logp = tf.nn.log_softmax(logits)
        chosen = tf.reduce_sum(logp * tf.one_hot(a, 2), -1)
        norm = (adv - tf.reduce_mean(adv)) / (tf.math.reduce_std(adv) + 1e-6)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(logp) * logp, -1))
        loss = -tf.reduce_mean(chosen * norm)
        loss += 0.5 * tf.reduce_mean((ret - value) ** 2) - 0.01 * entropy
    grads, _ = tf.clip_by_global_norm(tape.gradient(loss, net.trainable_variables), 0.5)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss


def advantages_tensor(rew, val, done, last):
    rew, val, done = (tf.convert_to_tensor(np.stack(v)) for v in (rew, val, done))
    nxt, run = tf.convert_to_tensor(last), tf.zeros(ENVS)
    total, adv, ret = nxt, [], []
    for t in reversed(range(HORIZON)):
        alive = 1.0 - done[t]
        delta = rew[t] + GAMMA * nxt * alive - val[t]
        run = delta + GAMMA * LAM * alive * run
        total = rew[t] + GAMMA * alive * total
        nxt = val[t]
        adv.append(run), ret.append(total)
    return tf.stack(adv[::-1]), tf.stack(ret[::-1])


def advantages_array(rew, val, done, last):
    rew, val, done = np.stack(rew), np.stack(val), np.stack(done)
    nxt, run, total = last, np.zeros(ENVS, np.float32), last
    adv, ret = np.empty_like(rew), np.empty_like(rew)
    for t in reversed(range(HORIZON)):
        alive = 1.0 - done[t]
        delta = rew[t] + GAMMA * nxt * alive - val[t]
        run = delta + GAMMA * LAM * alive * run
        total = rew[t] + GAMMA * alive * total
        nxt, adv[t], ret[t] = val[t], run, total
    return tf.convert_to_tensor(adv), tf.convert_to_tensor(ret)


def iteration(env, advantages):
    S, A, R, V, D = [], [], [], [], []
    s = env.s
    for _ in range(HORIZON):
        a, v = act(s)
        a, v = a.numpy(), v.numpy()
        S.append(s), A.append(a), V.append(v)
        s, r, d = env.step(a)
        R.append(r), D.append(d)
    last = act(s)[1].numpy()
    adv, ret = advantages(R, V, D, last)
    return update(np.stack(S), np.stack(A), adv, ret)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()
    tf.random.set_seed(0)
    env = CartPoles(ENVS, seed=1)
    advantages = advantages_tensor if args.fault else advantages_array
    for _ in range(WARMUP):
        iteration(env, advantages)
    tf.profiler.experimental.start(args.logdir)
    for step in range(UPDATES):
        with tf.profiler.experimental.Trace("update", step_num=step, _r=1):
            loss = iteration(env, advantages)
    tf.profiler.experimental.stop()
    print("last loss", round(float(loss), 4))


if __name__ == "__main__":
    main()
