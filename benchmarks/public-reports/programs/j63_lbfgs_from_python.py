import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

N, STEPS_OF_SOLVER, DT, VISCOSITY = 32, 20, 0.02, 2e-3

k = np.fft.fftfreq(N, 1.0 / N)
KX, KY = np.meshgrid(k, np.fft.rfftfreq(N, 1.0 / N), indexing="ij")
K2 = KX**2 + KY**2
INVERSE = np.where(K2 > 0, 1.0 / np.maximum(K2, 1.0), 0.0)
DEALIAS = (np.abs(KX) < N / 3) & (KY < N / 3)


def solve(vorticity):
    def step(w, _):
        psi = w * INVERSE
        u, v = jnp.fft.irfft2(1j * KY * psi), jnp.fft.irfft2(-1j * KX * psi)
        wx, wy = jnp.fft.irfft2(1j * KX * w), jnp.fft.irfft2(1j * KY * w)
        advection = jnp.fft.rfft2(u * wx + v * wy) * DEALIAS
        return (w - DT * advection) / (1 + DT * VISCOSITY * K2), None

    w, _ = jax.lax.scan(step, jnp.fft.rfft2(vorticity), None, length=STEPS_OF_SOLVER)
    return jnp.fft.irfft2(w)


def make_loss(target):
    @jax.jit
    def loss_fn(vorticity):
        mismatch = jnp.mean((solve(vorticity) - target) ** 2)
        return mismatch + 1e-5 * jnp.mean(vorticity**2)

    return loss_fn


def project(grad):
    spectrum = np.fft.rfft2(grad)
    spectrum[0, 0] = 0.0
    return np.fft.irfft2(spectrum * DEALIAS).astype(np.float32)


def run_lbfgs(loss_fn, init_x, max_iters, grad_proj_fn=None, clip_fn=None):
    solver = optax.lbfgs(memory_size=8, linesearch=optax.scale_by_zoom_linesearch(max_linesearch_steps=15))
    opt_state = solver.init(init_x)
    x, losses, grad_norms = init_x, [], []
    value_and_grad = optax.value_and_grad_from_state(loss_fn)
    for i in range(max_iters):
        value, grad = value_and_grad(x, state=opt_state)
        if grad_proj_fn is not None:
            grad = jnp.array(grad_proj_fn(np.asarray(grad)))
        grad_norms.append(float(jnp.linalg.norm(grad.ravel())))
        updates, opt_state = solver.update(grad, opt_state, x, value=value, grad=grad, value_fn=loss_fn)
        x = optax.apply_updates(x, updates)
        if clip_fn is not None:
            x = clip_fn(x)
        losses.append(float(value))
        if i % 2 == 0:
            print(i, losses[-1], grad_norms[-1], flush=True)
    return x, losses


def field(rng):
    noise = np.fft.rfft2(rng.normal(size=(N, N)))
    return np.fft.irfft2(noise * np.exp(-K2 / 18.0)).astype(np.float32) * 6.0


rng = np.random.default_rng(0)
truth = field(rng)
target = jax.jit(solve)(truth)
start = jnp.asarray(truth + 0.8 * field(rng))
run_lbfgs(make_loss(target), start, int(os.environ.get("STEPS", 7)), project, lambda x: jnp.clip(x, -30.0, 30.0))
