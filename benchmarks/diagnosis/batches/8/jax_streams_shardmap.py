"""Fits a galaxy's potential to stellar streams.

Each star is integrated for its own age; the ages differ by two orders of magnitude, so stars are packed in groups of
like age and a group stops with its oldest star. Sensitivities are carried forward with jacfwd, groups are dealt to
the devices with shard_map. The error bars come from the information matrix of one device's groups.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec as P

GROUP = 128
GROUPS = 16
DT = 0.01
TRUE = np.array([1.2, 0.35, 0.9, 0.6, 0.15], np.float32)


def acceleration(theta, pos):
    mass, core, flatten, disk, height = theta
    x, y, z = pos
    halo = -mass / (x * x + y * y + (z / flatten) ** 2 + core**2) ** 1.5
    b = jnp.sqrt(z * z + height**2)
    plane = -disk / (x * x + y * y + (1.0 + b) ** 2) ** 1.5
    return jnp.stack([x * (halo + plane), y * (halo + plane), z * (halo / flatten**2 + plane * (1.0 + b) / b)])


def integrate(theta, pos, vel, ages, step=DT):
    """Leapfrog from birth to today; pos and vel are (3, stars), ages are in time units."""

    def unfinished(carry):
        return carry[0] * step < ages.max()

    def kick_drift_kick(carry):
        i, pos, vel, acc = carry
        dt = jnp.clip(ages - i * step, 0.0, step)
        half = vel + 0.5 * dt * acc
        pos = pos + dt * half
        acc = acceleration(theta, pos)
        return i + 1, pos, half + 0.5 * dt * acc, acc

    start = (jnp.zeros((), jnp.int32), pos, vel, acceleration(theta, pos))
    return jax.lax.while_loop(unfinished, kick_drift_kick, start)[1]


def make_catalogue(seed=3):
    rng = np.random.default_rng(seed)
    stars = GROUP * GROUPS
    pos = rng.normal(0, 1.0, (stars, 3)).astype(np.float32)
    vel = rng.normal(0, 0.5, (stars, 3)).astype(np.float32)
    ages = np.clip(np.exp(rng.normal(0.6, 1.1, stars)), 0.05, 16.0).astype(np.float32)
    return pos, vel, ages


def pack(pos, vel, ages, devices):
    order = np.argsort(ages).reshape(GROUPS, GROUP)
    order = np.concatenate([order[first::devices] for first in range(devices)])
    return pos[order].transpose(0, 2, 1), vel[order].transpose(0, 2, 1), ages[order]


def misfit(theta, group):
    pos, vel, ages, seen = group
    return jnp.mean(jnp.square(integrate(theta, pos, vel, ages) - seen))


def information(theta, groups):
    def one(total, group):
        slopes = jax.jacfwd(integrate)(theta, *group[:3], DT / 2).reshape(-1, len(theta))
        return total + slopes.T @ slopes, None

    return jax.lax.scan(one, jnp.zeros((len(theta), len(theta))), groups)[0]


def make_step(mesh, optimizer, watch):
    def local(theta, groups):
        def one(total, group):
            loss, grad = misfit(theta, group), jax.jacfwd(misfit)(theta, group)
            return (total[0] + loss, total[1] + grad), None

        (loss, grad), _ = jax.lax.scan(one, (jnp.zeros(()), jnp.zeros_like(theta)), groups)
        fisher = jnp.zeros((len(theta), len(theta)))
        if watch:
            first = jax.lax.axis_index("stars") == 0
            fisher = jax.lax.cond(first, information, lambda *_: fisher, theta, groups)
        return jax.lax.psum((loss / GROUPS, grad / GROUPS, fisher), "stars")

    spread = jax.shard_map(local, mesh=mesh, in_specs=(P(), P("stars")), out_specs=P(), check_vma=False)

    @jax.jit
    def step(theta, opt_state, groups):
        loss, grad, fisher = spread(theta, groups)
        updates, opt_state = optimizer.update(grad, opt_state)
        return jnp.clip(optax.apply_updates(theta, updates), 0.05, 5.0), opt_state, loss, fisher

    return step


def main(logdir, fault):
    mesh = jax.make_mesh((2,), ("stars",))
    pos, vel, ages = pack(*make_catalogue(), devices=2)
    seen = jax.jit(jax.vmap(integrate, in_axes=(None, 0, 0, 0)))(jnp.asarray(TRUE), pos, vel, ages)
    groups = jax.device_put((pos, vel, ages, np.asarray(seen)), NamedSharding(mesh, P("stars")))
    theta = jax.device_put(jnp.array([0.9, 0.5, 1.0, 0.4, 0.25]), NamedSharding(mesh, P()))
    optimizer = optax.adam(0.02)
    opt_state = optimizer.init(theta)
    step = make_step(mesh, optimizer, watch=fault)
    for _ in range(5):
        theta, opt_state, loss, fisher = step(theta, opt_state, groups)
    theta.block_until_ready()

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    jax.profiler.start_trace(logdir, profiler_options=options)
    for _ in range(10):
        theta, opt_state, loss, fisher = step(theta, opt_state, groups)
    theta.block_until_ready()
    jax.profiler.stop_trace()
    if not fault:
        fisher = jax.jit(information)(np.asarray(theta), [np.asarray(x)[: GROUPS // 2] for x in groups])
    bars = np.sqrt(np.diag(np.linalg.pinv(np.asarray(fisher))))
    print("loss", float(loss), "theta", np.round(np.asarray(theta), 3), "+-", np.round(bars, 4))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    main(**vars(parser.parse_args()))
