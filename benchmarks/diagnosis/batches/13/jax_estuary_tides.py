"""Calibrates bottom friction and an eddy-viscosity closure of a shallow-water estuary, rows split over two devices."""
import os
import shutil
import sys
import tempfile

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

LOGDIR = sys.argv[1]
STREAM = "--fault" in sys.argv[2:]
ROWS, COLS, TICKS, GAUGES = 256, 256, 8, 400
DT, DX, GRAVITY = 2.0, 100.0, 9.81

mesh = Mesh(np.array(jax.devices()[:2]), ("y",))
LOCAL = ROWS // mesh.size
on_rows = P(None, "y", None)


def with_neighbours(state):
    """Adds the row above and the row below (closed walls at the ends) and pads the columns."""
    rank = lax.axis_index("y")
    above = lax.ppermute(state[:, -1:], "y", [(0, 1)])
    below = lax.ppermute(state[:, :1], "y", [(1, 0)])
    above = jnp.where(rank == 0, state[:, :1], above)
    below = jnp.where(rank == mesh.size - 1, state[:, -1:], below)
    tall = jnp.concatenate([above, state, below], axis=1)
    return jnp.pad(tall, ((0, 0), (0, 0), (1, 1)), mode="edge")


def viscosity(closure, eta, u, v, shear):
    x = jnp.stack([eta, u, v, shear])
    h = jnp.tanh(jnp.einsum("fh,fyx->hyx", closure["w1"], x) + closure["b1"][:, None, None])
    return 20.0 * jax.nn.sigmoid(jnp.einsum("h,hyx->yx", closure["w2"], h))


def tick(params, depth, state):
    tall = with_neighbours(state)
    centre = tall[:, 1:-1, 1:-1]
    ddy = (tall[:, 2:, 1:-1] - tall[:, :-2, 1:-1]) / (2 * DX)
    ddx = (tall[:, 1:-1, 2:] - tall[:, 1:-1, :-2]) / (2 * DX)
    laplace = (tall[:, 2:, 1:-1] + tall[:, :-2, 1:-1] + tall[:, 1:-1, 2:] + tall[:, 1:-1, :-2] - 4 * centre) / DX**2
    eta, u, v = centre
    shear = jnp.abs(ddy[1] + ddx[2]) * DX
    nu = viscosity(params["closure"], eta, u, v, shear)
    speed = jnp.sqrt(u**2 + v**2 + 1e-6)
    drag = jnp.exp(params["friction"]) * speed / (depth + eta + 1.0)
    eta_new = eta - DT * depth * (ddx[1] + ddy[2])
    u_new = u + DT * (nu * laplace[1] - GRAVITY * ddx[0] - drag * u)
    v_new = v + DT * (nu * laplace[2] - GRAVITY * ddy[0] - drag * v)
    return jnp.stack([eta_new, u_new, v_new])


@functools.partial(
    jax.shard_map,
    mesh=mesh,
    in_specs=({"closure": P(), "friction": P("y")}, P("y"), on_rows, P("y"), P("y")),
    out_specs=(P(), {"closure": P(), "friction": P("y")}),
    check_vma=False,
)
def misfit_and_grad(params, depth, start, observed, gauge):
    def misfit(params):
        def body(state, _):
            return tick(params, depth, state), None

        final, _ = lax.scan(body, start, None, length=TICKS)
        return jnp.sum(gauge * (final[0] - observed) ** 2) / GAUGES

    loss, grads = jax.value_and_grad(misfit)(params)
    grads["closure"] = lax.psum(grads["closure"], "y")
    return lax.psum(loss, "y"), grads


optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-3))


@functools.partial(jax.jit, donate_argnums=(0, 1))
def calibrate(params, opt_state, depth, start, observed, gauge):
    loss, grads = misfit_and_grad(params, depth, start, observed, gauge)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


rng = np.random.default_rng(12)
y, x = np.mgrid[0:ROWS, 0:COLS] / ROWS
depth = (6 + 8 * np.exp(-((x - 0.35) ** 2) / 0.02)).astype("float32")
gauge = np.zeros((ROWS, COLS), "float32")
gauge.flat[rng.choice(ROWS * COLS, GAUGES, replace=False)] = 1
put = lambda value, spec: jax.device_put(value, NamedSharding(mesh, spec))

params = {
    "closure": put({"w1": rng.normal(0, 0.5, (4, 8)).astype("float32"), "b1": np.zeros(8, "float32"),
                    "w2": rng.normal(0, 0.3, 8).astype("float32")}, P()),
    "friction": put(np.full((ROWS, COLS), -6.0, "float32"), P("y")),
}
opt_state = jax.jit(optimizer.init)(params)
depth, gauge = put(depth, P("y")), put(gauge, P("y"))

folder = tempfile.mkdtemp(prefix="tides")
for number, phase in enumerate(np.linspace(0, 2 * np.pi, 4, endpoint=False)):
    wave = np.stack([np.cos(4 * y + phase), 0.2 * np.sin(3 * x + phase), 0.1 * np.cos(5 * y)])
    for name, grid in zip(("eta", "u", "v", "observed"), (*wave, wave[0] * 0.97)):
        header = f"ncols {COLS}\nnrows {ROWS}\nxllcorner 0\nyllcorner 0\ncellsize {DX}\nNODATA_value -9999"
        np.savetxt(f"{folder}/{name}_{number}.asc", grid, fmt="%.5f", header=header, comments="")


def read_tide(number):
    eta, u, v, observed = (
        np.loadtxt(f"{folder}/{name}_{number}.asc", skiprows=6, dtype="float32") for name in ("eta", "u", "v", "observed")
    )
    return put(np.stack([eta, u, v]), on_rows), put(observed, P("y"))


tides = [] if STREAM else [read_tide(number) for number in range(4)]


def tide(step):
    return read_tide(step % 4) if STREAM else tides[step % 4]


for step in range(6):
    params, opt_state, loss = calibrate(params, opt_state, depth, *tide(step), gauge)
loss.block_until_ready()

jax.profiler.start_trace(LOGDIR)
for step in range(10):
    params, opt_state, loss = calibrate(params, opt_state, depth, *tide(step), gauge)
loss.block_until_ready()
jax.profiler.stop_trace()
print("misfit at the gauges", float(loss))
shutil.rmtree(folder)
