"""Langevin dynamics of a coarse polymer melt; every outer step samples the radius of gyration."""
import argparse
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

CHAINS = 8
BEADS = 16
N = CHAINS * BEADS
BOX = 9.0
DT = 0.002
FRICTION = 1.0
TEMPERATURE = 1.0
SUBSTEPS = 40


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Melt:
    pos: jax.Array
    vel: jax.Array
    force: jax.Array
    key: jax.Array


def periodic(d):
    return d - BOX * jnp.round(d / BOX)


PAIR = jnp.asarray(np.triu(np.ones((N, N), np.float32), 1))
BOND = jnp.asarray([i for i in range(N - 1) if (i + 1) % BEADS])


def energy(pos):
    d = periodic(pos[:, None] - pos[None])
    r2 = (d * d).sum(-1) + (1.0 - PAIR) * 100.0
    s6 = (1.0 / jnp.maximum(r2, 0.6)) ** 3
    repulsion = jnp.where(r2 < 2 ** (1 / 3), 4 * (s6 * s6 - s6) + 1.0, 0.0)
    stretch = periodic(pos[BOND + 1] - pos[BOND])
    length = jnp.sqrt((stretch**2).sum(-1) + 1e-9)
    return (repulsion * PAIR).sum() + 50.0 * ((length - 0.97) ** 2).sum()


@jax.jit
def forces(pos):
    return -jax.grad(energy)(pos)


def integrate(melt):
    """One BAOAB step."""
    key, sub = jax.random.split(melt.key)
    vel = melt.vel + 0.5 * DT * melt.force
    pos = melt.pos + 0.5 * DT * vel
    keep = jnp.exp(-FRICTION * DT)
    noise = jax.random.normal(sub, vel.shape)
    vel = keep * vel + jnp.sqrt(TEMPERATURE * (1 - keep**2)) * noise
    pos = pos + 0.5 * DT * vel
    pos = pos - BOX * jnp.floor(pos / BOX)
    force = forces(pos)
    vel = vel + 0.5 * DT * force
    return Melt(pos, vel, force, key)


@jax.jit
def advance_block(melt):
    return jax.lax.fori_loop(0, SUBSTEPS, lambda _, m: integrate(m), melt)


def advance_each(melt):
    for _ in range(SUBSTEPS):
        melt = integrate(melt)
    return melt


@jax.jit
def observe(melt):
    chains = melt.pos.reshape(CHAINS, BEADS, 3)
    unwrapped = jnp.cumsum(periodic(jnp.diff(chains, axis=1, prepend=chains[:, :1])), axis=1)
    centred = unwrapped - unwrapped.mean(1, keepdims=True)
    gyration = jnp.sqrt((centred**2).sum(-1).mean(-1)).mean()
    kinetic = (melt.vel**2).mean()
    return gyration, kinetic


def start(seed=0):
    rng = np.random.default_rng(seed)
    side = np.arange(CHAINS) % 3, np.arange(CHAINS) // 3
    base = np.stack([np.zeros(CHAINS), 3.0 * side[0] + 0.5, 3.0 * side[1] + 0.5], -1)
    pos = np.zeros((CHAINS, BEADS, 3))
    for b in range(BEADS):
        pos[:, b] = base + [0.97 * (b % 8), 0.97 * (b // 8), 0]
    pos = (pos + 0.02 * rng.standard_normal(pos.shape)).reshape(N, 3) % BOX
    pos = jnp.asarray(pos, jnp.float32)
    return Melt(pos, jnp.asarray(rng.standard_normal((N, 3)), jnp.float32), forces(pos), jax.random.key(seed))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()

    advance = advance_each if args.fault else advance_block
    melt = start()
    for _ in range(5):
        melt = advance(melt)
        out = observe(melt)
    jax.block_until_ready((melt.pos, out))

    history = []
    with jax.profiler.trace(args.logdir):
        for step in range(12):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                melt = advance(melt)
                history.append(observe(melt))
        jax.block_until_ready((melt.pos, history))
    gyration, kinetic = history[-1]
    print(f"last loss {float(energy(melt.pos)) / N:.4f} gyration {float(gyration):.3f} kinetic {float(kinetic):.3f}")


if __name__ == "__main__":
    main()
