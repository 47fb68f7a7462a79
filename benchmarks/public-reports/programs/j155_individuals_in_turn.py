import os

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import differential_evolution

FREQUENCIES, DETECTORS, POPSIZE, GENERATIONS = 1000, 3, 15, 80
MTSUN, RANGE = 4.925e-6, np.array([(10.0, 40.0), (0.15, 0.25), (-0.5, 0.5), (-0.05, 0.05), (0.0, 6.28), (0.5, 6.0), (0.1, 3.0)])


def taylor_f2(f, theta):
    chirp_mass, eta, chi, t_c, phase_c, log_distance, _ = theta
    v = (jnp.pi * chirp_mass * eta**-0.6 * MTSUN * f) ** (1 / 3)
    series = 1 + (3715 / 756 + 55 / 9 * eta) * v**2 + (113 / 3 * chi - 16 * jnp.pi) * v**3
    series += (15293365 / 508032 + 27145 / 504 * eta + 3085 / 72 * eta**2) * v**4
    phase = 2 * jnp.pi * f * t_c - phase_c - jnp.pi / 4 + 3 / (128 * eta) * v**-5 * series
    amplitude = jnp.exp(-log_distance) * (f / 20) ** (-7 / 6) * (chirp_mass / 20) ** (5 / 6)
    return amplitude * jnp.exp(1j * phase) / (1 + (f * chirp_mass / 2500) ** 8)


def response(f, theta):
    strain, inclination = taylor_f2(f, theta), theta[6]
    plus, cross = strain * (1 + jnp.cos(inclination) ** 2) / 2, 1j * strain * jnp.cos(inclination)
    angles = jnp.arange(DETECTORS) * 2.1
    delays = jnp.exp(-2j * jnp.pi * f * 0.007 * jnp.sin(angles)[:, None])
    return (jnp.cos(angles)[:, None] * plus + jnp.sin(angles)[:, None] * cross) * delays


@jax.jit
def evaluate(theta, f, data, psd):
    model = response(f, theta)
    inner = 4 * (f[1] - f[0]) * jnp.sum(jnp.real(jnp.conj(model) * (data - model / 2)) / psd)
    return inner


class HeterodynedTransientLikelihood:
    def __init__(self, f, data, psd):
        self.f, self.data, self.psd = f, data, psd
        self.reference = self.maximize_likelihood()
        self.waveform = response(self.f, jnp.asarray(self.reference.x))

    def maximize_likelihood(self):
        def y(x):
            return -float(evaluate(x.astype("float32"), self.f, self.data, self.psd))

        return differential_evolution(y, RANGE, maxiter=GENERATIONS, popsize=POPSIZE, tol=0, rng=1, polish=False)


rng = np.random.default_rng(0)
f = jnp.linspace(20, 512, FREQUENCIES)
psd = jnp.asarray(1e-2 * ((f / 60) ** -4 + 1 + (f / 250) ** 2))
for event in range(int(os.environ.get("STEPS", 7))):
    truth = rng.uniform(RANGE[:, 0], RANGE[:, 1]).astype("float32")
    truth[5] = 0.5
    noise = rng.normal(size=(2, DETECTORS, FREQUENCIES)) * np.sqrt(np.asarray(psd) / 4 / float(f[1] - f[0]))
    data = jnp.asarray(response(f, truth) + noise[0] + 1j * noise[1])
    likelihood = HeterodynedTransientLikelihood(f, data, psd)
    found, residual = likelihood.reference, float(jnp.abs(data - likelihood.waveform).mean())
    print(f"event {event} chirp mass {found.x[0]:.2f} ({truth[0]:.2f}) log L {-found.fun:.1f} residual {residual:.3f}", flush=True)
