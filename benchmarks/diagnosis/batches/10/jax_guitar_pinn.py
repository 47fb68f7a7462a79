"""Physics-informed network of a plucked guitar string, for any gauge, tension, damping and pluck point (Equinox)."""
import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

INPUTS = 6  # position, time, tension, gauge, damping, pluck point
POINTS, EDGE = 1536, 256
WARMUP, RECORDED = 8, 10


class String(eqx.Module):
    layers: list
    frequencies: jax.Array

    def __init__(self, key, width=128, depth=4):
        keys = jax.random.split(key, depth + 2)
        self.frequencies = 2.0 * jax.random.normal(keys[0], (INPUTS, width // 2))
        sizes = [width] * (depth + 1)
        self.layers = [eqx.nn.Linear(m, n, key=k) for m, n, k in zip(sizes, sizes[1:], keys[1:])]
        self.layers.append(eqx.nn.Linear(width, 1, key=keys[-1]))

    def __call__(self, z):
        phase = z @ jax.lax.stop_gradient(self.frequencies)
        h = jnp.concatenate([jnp.sin(phase), jnp.cos(phase)])
        for layer in self.layers[:-1]:
            h = jnp.tanh(layer(h))
        return z[0] * (1 - z[0]) * self.layers[-1](h)[0]


def curvature(u, z, axis):
    """Second derivative of u at z along one axis, and the first."""
    e = jnp.zeros_like(z).at[axis].set(1.0)
    slope = lambda y: jax.jvp(u, (y,), (e,))[1]
    return jax.jvp(slope, (z,), (e,))


def derivatives_along(u, z):
    _, u_xx = curvature(u, z, 0)
    u_t, u_tt = curvature(u, z, 1)
    return u_t, u_tt, u_xx


def derivatives(u, z):
    first = jax.grad(u)(z)
    second = jax.hessian(u)(z)
    return first[1], second[1, 1], second[0, 0]


def pluck(z):
    x, p = z[0], z[5]
    return jnp.where(x < p, x / p, (1 - x) / (1 - p))


def make_step(optimizer, partials):
    def residual(u, z):
        u_t, u_tt, u_xx = partials(u, z)
        tension, gauge, damping = z[2], z[3], z[4]
        return u_tt + damping * u_t - tension / gauge * u_xx

    def loss_fn(u, inside, start):
        wave = jnp.mean(jax.vmap(lambda z: residual(u, z))(inside) ** 2)
        shape = jnp.mean((jax.vmap(u)(start) - jax.vmap(pluck)(start)) ** 2)
        return 1e-3 * wave + shape

    @eqx.filter_jit
    def step(u, opt_state, inside, start):
        loss, grads = eqx.filter_value_and_grad(loss_fn)(u, inside, start)
        updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(u, eqx.is_array))
        return eqx.apply_updates(u, updates), opt_state, loss

    return step


def collocation(rng):
    low = np.array([0, 0, 0.5, 0.8, 0.0, 0.15], np.float32)
    high = np.array([1, 2, 1.5, 1.2, 0.3, 0.85], np.float32)
    inside = rng.uniform(low, high, (POINTS, INPUTS)).astype(np.float32)
    start = rng.uniform(low, high, (EDGE, INPUTS)).astype(np.float32)
    start[:, 1] = 0
    return inside, start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    u = String(jax.random.key(5))
    optimizer = optax.adam(optax.exponential_decay(2e-3, 200, 0.9))
    opt_state = optimizer.init(eqx.filter(u, eqx.is_array))
    step = make_step(optimizer, derivatives if args.fault else derivatives_along)
    rng = np.random.default_rng(0)

    for _ in range(WARMUP):
        u, opt_state, loss = step(u, opt_state, *collocation(rng))
    print("warm-up", float(loss))

    jax.profiler.start_trace(args.logdir)
    for i in range(RECORDED):
        with jax.profiler.StepTraceAnnotation("step", step_num=i):
            u, opt_state, loss = step(u, opt_state, *collocation(rng))
    jax.block_until_ready((u, loss))
    jax.profiler.stop_trace()
    print("loss", float(loss))


if __name__ == "__main__":
    main()
