import os

import numpy as np
import tensorflow as tf


class Gamma:
    def __init__(self, concentration, rate):
        self.concentration = tf.constant(concentration, tf.float32)
        self.rate = tf.constant(rate, tf.float32)

    def log_prob(self, x):
        norm = tf.math.lgamma(self.concentration) - self.concentration * tf.math.log(self.rate)
        return (self.concentration - 1.0) * tf.math.log(x) - self.rate * x - norm


class Poisson:
    def __init__(self, rate):
        self.rate = rate

    def log_prob(self, counts):
        return counts * tf.math.log(self.rate) - self.rate - tf.math.lgamma(counts + 1.0)


def build_model(a=4.5, b=2.0):
    prior = Gamma(a, b)

    def log_prob(rate, observations):
        rate = tf.convert_to_tensor(rate, tf.float32)
        likelihood = Poisson(rate[..., tf.newaxis]).log_prob(observations)
        return prior.log_prob(rate) + tf.reduce_sum(likelihood, axis=-1)

    return log_prob


def posterior_of(observations, rates, model):
    def target_log_prob_fn(rate):
        return model(rate, observations)

    model_log_probs = np.array([target_log_prob_fn(rate).numpy() for rate in rates])
    weights = np.exp(model_log_probs - model_log_probs.max())
    weights /= weights.sum()
    maximizer = rates[np.argmax(model_log_probs)]
    cumulated = np.cumsum(weights)
    low, high = rates[np.searchsorted(cumulated, 0.05)], rates[np.searchsorted(cumulated, 0.95)]
    return maximizer, low, high


def coverage(studies):
    rng = np.random.default_rng(0)
    model = build_model()
    rates = np.linspace(0.01, 10.0, 1000).astype("float32")
    covered, bias = 0, 0.0
    for study in range(studies):
        rate_true = rng.gamma(4.5, 1.0 / 2.0)
        poisson_samples = tf.constant(rng.poisson(rate_true, size=100), tf.float32)
        maximizer, low, high = posterior_of(poisson_samples, rates, model)
        covered += low <= rate_true <= high
        bias += maximizer - rate_true
        if study % 5 == 0:
            print(study, f"true {rate_true:.2f} found {maximizer:.2f} [{low:.2f}, {high:.2f}]", flush=True)
    print("covered", covered / studies, "bias", bias / studies)


coverage(int(os.environ.get("STEPS", 20)))
