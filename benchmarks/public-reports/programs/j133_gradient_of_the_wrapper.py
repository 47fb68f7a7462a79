import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import jit as jjit
from jax.example_libraries import optimizers as jax_opt

TODAY, K, N_STEP, N_SNAPSHOTS = 13.8, 3.5, 100, 90
LOGT0 = np.log10(TODAY)
BOUNDS = {"logtc": (0.5, 3.0, -1.0, 1.0), "early": (2.0, 0.5, 0.1, 10.0), "late": (0.3, 1.0, 0.0, 5.0)}


@jjit
def _sigmoid(x, x0, k, ylo, yhi):
    return ylo + (yhi - ylo) * jax.nn.sigmoid(k * (x - x0))


@jjit
def _get_bounded_params(u_params):
    u_logtc, u_early, u_late = u_params
    late = _sigmoid(u_late, *BOUNDS["late"])
    return _sigmoid(u_logtc, *BOUNDS["logtc"]), late + _sigmoid(u_early, *BOUNDS["early"]), late


@jjit
def _rolling_plaw_log_mah(logt, logmp, logtc, early, late):
    rolling_index = _sigmoid(logt, logtc, K, early, late)
    return logmp + rolling_index * (logt - LOGT0)


@jjit
def _log_mah_kern(u_params, logt, logmp):
    return _rolling_plaw_log_mah(logt, logmp, *_get_bounded_params(u_params))


@jjit
def log_mah_mse_loss(u_params, loss_data):
    logt, target, logmp, weight = loss_data
    diff = _log_mah_kern(u_params, logt, logmp) - target
    return jnp.sum(weight * diff * diff) / jnp.sum(weight)


def jax_adam_wrapper(loss_func, params_init, loss_data, n_step, step_size=0.05):
    """Minimizes loss_func with Adam, keeps the best parameters on the way."""
    loss_arr = np.zeros(n_step, "f4")
    opt_init, opt_update, get_params = jax_opt.adam(step_size)
    opt_state = opt_init(params_init)
    best_loss, best_params = np.inf, params_init
    for istep in range(n_step):
        p = np.asarray(get_params(opt_state))
        loss, grads = jax.value_and_grad(loss_func, argnums=0)(p, loss_data)
        loss_arr[istep] = loss
        if loss_arr[istep] < best_loss:
            best_loss, best_params = loss_arr[istep], p
        opt_state = opt_update(istep, grads, opt_state)
    return best_params, best_loss, loss_arr


def load_halo(rng, logt):
    """Mass assembly history of a simulated halo, as a merger tree has it."""
    logmp, late = rng.uniform(11, 15), rng.uniform(0.1, 1.5)
    early, logtc = late + rng.uniform(0.5, 4), rng.uniform(-0.2, 0.8)
    index = early + (late - early) / (1 + np.exp(-K * (logt - logtc)))
    log_mah = logmp + index * (logt - LOGT0) + rng.normal(0, 0.05, logt.size)
    return np.maximum.accumulate(log_mah).astype("f4"), np.float32(logmp)


rng = np.random.default_rng(0)
tarr = np.linspace(0.5, TODAY, N_SNAPSHOTS)
logt, outlines = np.log10(tarr).astype("f4"), []
for halo_id in range(int(os.environ.get("STEPS", 45))):
    log_mah, logmp = load_halo(rng, logt)
    weight = (log_mah > logmp - 2.5).astype("f4")
    loss_data = (logt, log_mah, logmp, weight)
    u_params, loss, _ = jax_adam_wrapper(log_mah_mse_loss, np.zeros(3, "f4"), loss_data, N_STEP)
    outlines.append([halo_id, *(float(x) for x in _get_bounded_params(u_params)), logmp, loss])
    if halo_id % 2 == 0:
        print(" ".join(f"{x:.4f}" for x in outlines[-1]), flush=True)
