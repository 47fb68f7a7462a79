import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

EVENTS, BATCHES = 20_000, 8

QNM_SPIN = jnp.linspace(-1.0, 1.0, 500_000)
QNM_FREQUENCY = (1.5251 - 1.1568 * (1.001 - QNM_SPIN) ** 0.1292) / (2 * jnp.pi)
QNM_DAMPING = QNM_FREQUENCY / (2 * (0.7 + 1.4187 * (1.001 - QNM_SPIN) ** -0.499))


def final_spin(eta, chi):
    orbital = 2 * jnp.sqrt(3.0) * eta - 3.871 * eta**2 + 4.028 * eta**3
    return jnp.clip(orbital + chi * (1 - 2 * eta - 0.5 * eta**2), -0.99, 0.99)


def ringdown(mass, eta, chi):
    spin = final_spin(eta, chi)
    remnant = mass * (1 - 0.055 * eta - 0.58 * eta**2 - 0.01 * eta * chi)
    frequency = jnp.interp(spin, QNM_SPIN, QNM_FREQUENCY) / remnant
    damping = jnp.interp(spin, QNM_SPIN, QNM_DAMPING) / remnant
    return frequency, damping


def loss_fn(params, events):
    mass = events["mass"] * jnp.exp(params["log_scale"])
    chi = jnp.tanh(params["width"] * events["chi"] + params["shift"])
    frequency, damping = ringdown(mass, events["eta"], chi)
    residual = (frequency - events["frequency"]) / events["error"]
    return jnp.mean(residual**2) + jnp.mean((damping - events["damping"]) ** 2) * 1e4


optimizer = optax.adam(1e-3)


@jax.jit
def update(params, opt_state, events):
    loss, grads = jax.value_and_grad(loss_fn)(params, events)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


def catalogue(rng):
    mass = rng.lognormal(0.0, 0.3, EVENTS)
    ratio = rng.uniform(0.2, 1.0, EVENTS)
    eta = ratio / (1 + ratio) ** 2
    chi = rng.normal(0.0, 0.5, EVENTS)
    frequency, damping = ringdown(mass * 1.1, eta, np.tanh(0.8 * chi + 0.1))
    error = rng.uniform(0.005, 0.02, EVENTS)
    events = {"mass": mass, "eta": eta, "chi": chi, "error": error, "damping": damping,
              "frequency": frequency + error * rng.normal(size=EVENTS)}
    return {name: jnp.asarray(values, jnp.float32) for name, values in events.items()}


def fit(steps):
    rng = np.random.default_rng(0)
    batches = [catalogue(rng) for _ in range(BATCHES)]
    params = {"log_scale": jnp.zeros(()), "width": jnp.ones(()), "shift": jnp.zeros(())}
    opt_state = optimizer.init(params)
    for step in range(steps):
        params, opt_state, loss = update(params, opt_state, batches[step % BATCHES])
        if step % 1000 == 0:
            print(step, float(loss), float(params["log_scale"]))


fit(int(os.environ.get("STEPS", 12000)))
