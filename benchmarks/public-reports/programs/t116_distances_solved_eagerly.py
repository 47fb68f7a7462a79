import os

import numpy as np
import tensorflow as tf

STEPS_OF_A, NEWTON, A_END = 4, 1, 0.4


def expansion(cosmology, a):
    dark = (1.0 - cosmology["Omega_m"]) * a ** (-3.0 * (1.0 + cosmology["w0"]))
    return tf.sqrt(cosmology["Omega_m"] * a**-3 + dark)


def background_ode(cosmology, a, state):
    """Comoving distance, growth and its derivative, all by the scale factor."""
    e = expansion(cosmology, a)
    growth, slope = state[1], state[2]
    pull = 1.5 * cosmology["Omega_m"] * growth / (a**5 * e**2)
    return tf.stack([-1.0 / (a**2 * e), slope, pull - 2.2 * slope / a])


class BDF:
    """Implicit solver with Newton steps."""

    def solve(self, ode_fn, first_a, first_state, last_a, steps):
        h = (last_a - first_a) / steps
        state, states = first_state, [first_state]
        for number in range(steps):
            a = tf.constant(first_a + h * (number + 1), tf.float64)
            guess = state
            for _ in range(NEWTON):
                with tf.GradientTape() as tape:
                    tape.watch(guess)
                    slope = ode_fn(a, guess)
                jacobian = tape.jacobian(slope, guess)
                matrix = tf.eye(3, dtype=tf.float64) - h * jacobian
                residual = guess - state - h * slope
                guess -= tf.linalg.matvec(tf.linalg.inv(matrix), residual)
            state = guess
            states.append(state)
        return tf.stack(states)


def rad_comoving_distance(cosmology):
    cosmology = {name: tf.constant(value, tf.float64) for name, value in cosmology.items()}
    first = tf.constant([0.0, 1.0, 0.5], tf.float64)
    states = BDF().solve(lambda a, state: background_ode(cosmology, a, state), 1.0, first, A_END, STEPS_OF_A)
    return states[:, 0].numpy()


def log_likelihood(parameters, a_observed, observed):
    omega_m, w0 = parameters
    if not (0.05 < omega_m < 0.9 and -2.0 < w0 < -0.3):
        return -np.inf
    nodes = np.linspace(1.0, A_END, STEPS_OF_A + 1)
    chi = rad_comoving_distance({"Omega_m": omega_m, "w0": w0})
    predicted = np.interp(a_observed, nodes[::-1], chi[::-1])
    return -0.5 * np.sum(((observed - predicted) / 0.02) ** 2)


def sample(steps):
    rng = np.random.default_rng(0)
    a_observed = rng.uniform(A_END, 1.0, size=300)
    observed = (1.0 / a_observed - 1.0) * (1.0 - 0.2 * (1.0 / a_observed - 1.0)) + 0.02 * rng.normal(size=300)
    current = np.array([0.4, -0.8])
    score, accepted = log_likelihood(current, a_observed, observed), 0
    for step in range(steps):
        proposal = current + rng.normal(size=2) * [0.02, 0.05]
        proposed = log_likelihood(proposal, a_observed, observed)
        if np.log(rng.random()) < proposed - score:
            current, score, accepted = proposal, proposed, accepted + 1
        if step % 5 == 0:
            print(f"step {step}: Omega_m {current[0]:.3f}, w0 {current[1]:.3f}, accepted {accepted}", flush=True)


sample(int(os.environ.get("STEPS", 36)))
