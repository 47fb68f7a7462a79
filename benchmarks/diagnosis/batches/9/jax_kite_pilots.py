"""Evolves a kite autopilot on recorded gusts; the gusts are spread over the devices.

    python jax_kite_pilots.py LOGDIR
"""
import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

POPULATION = 64
HIDDEN = 64
SENSORS = 8
LONGEST = 240
PER_STEP = 24
SIGMA = 0.05


def record_gusts(count=64):
    """Wind of each gust (padded to the longest) and how many ticks it lasted."""
    rng = np.random.default_rng(29)
    ticks = np.clip(rng.lognormal(3.9, 1.0, count), 10, LONGEST).astype(np.int32)
    wind = rng.normal(0, 1, (count, LONGEST, 3)).cumsum(axis=1).astype(np.float32) * 0.1
    return wind, ticks


def init_pilot(key):
    a, b, c = jax.random.split(key, 3)
    return {
        "in": jax.random.normal(a, (SENSORS + 3, HIDDEN)) / 3,
        "mid": jax.random.normal(b, (HIDDEN, HIDDEN)) / 7,
        "out": jax.random.normal(c, (HIDDEN, SENSORS)) / 7,
    }


def fly(pilots, wind, ticks, whole):
    """Sum of the height that each pilot of the population kept during one gust."""

    def tick(state):
        now, pose, height = state
        seen = jnp.concatenate([pose, jnp.broadcast_to(wind[now], (POPULATION, 3))], axis=1)
        x = jnp.tanh(jnp.einsum("ps,psh->ph", seen, pilots["in"]))
        x = jnp.tanh(jnp.einsum("ph,phk->pk", x, pilots["mid"]))
        pose = 0.95 * pose + 0.1 * jnp.tanh(jnp.einsum("ph,phs->ps", x, pilots["out"]))
        return now + 1, pose, height + pose[:, 0] - 0.01 * jnp.square(pose).sum(axis=1)

    start = (jnp.int32(0), jnp.zeros((POPULATION, SENSORS)), jnp.zeros(POPULATION))
    if whole:
        def masked(state, _):
            now, pose, height = state
            later, pose, higher = tick(state)
            return (later, pose, jnp.where(now < ticks, higher, height)), None

        return jax.lax.scan(masked, start, None, length=LONGEST)[0][2]
    return jax.lax.while_loop(lambda state: state[0] < ticks, tick, start)[2]


def make_generation(mesh, whole):
    def fitness(pilots, wind, ticks):
        scores = jax.lax.map(lambda gust: fly(pilots, *gust, whole), (wind, ticks))
        return jax.lax.psum(scores.sum(axis=0), "gusts")

    score = jax.shard_map(fitness, mesh=mesh, in_specs=(P(), P("gusts"), P("gusts")), out_specs=P(), check_vma=False)

    @jax.jit
    def generation(pilot, key, wind, ticks):
        leaves, tree = jax.tree.flatten(pilot)
        keys = jax.random.split(key, len(leaves))
        noise = [jax.random.normal(k, (POPULATION // 2, *leaf.shape)) for k, leaf in zip(keys, leaves)]
        noise = jax.tree.unflatten(tree, [jnp.concatenate([n, -n]) for n in noise])
        pilots = jax.tree.map(lambda leaf, n: leaf + SIGMA * n, pilot, noise)
        total = score(pilots, wind, ticks)
        rank = jnp.argsort(jnp.argsort(total)) / (POPULATION - 1) - 0.5
        pilot = jax.tree.map(lambda leaf, n: leaf + 0.02 * jnp.tensordot(rank, n, 1) / SIGMA, pilot, noise)
        return pilot, total.mean()

    return generation


def deal(chosen, ticks):
    """Longest first, dealt to the two devices like cards: 1 2 2 1 1 2 2 1 ..."""
    order = chosen[np.argsort(-ticks[chosen])]
    place = np.arange(len(order)) % 4
    return np.concatenate([order[(place == 0) | (place == 3)], order[(place == 1) | (place == 2)]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()), ("gusts",))
    by_gust = NamedSharding(mesh, P("gusts"))
    wind, ticks = record_gusts()
    generation = make_generation(mesh, whole=args.fault)
    pilot = jax.device_put(init_pilot(jax.random.key(0)), NamedSharding(mesh, P()))
    rng = np.random.default_rng(3)

    def evolve(pilot, number):
        chosen = rng.choice(len(ticks), PER_STEP, replace=False)
        order = deal(chosen, ticks)
        batch = jax.device_put((wind[order], ticks[order]), by_gust)
        return generation(pilot, jax.random.key(number), *batch)

    for number in range(8):
        pilot, height = evolve(pilot, number)
    height.block_until_ready()
    with jax.profiler.trace(args.logdir):
        for number in range(8, 20):
            with jax.profiler.StepTraceAnnotation("generation", step_num=number):
                pilot, height = evolve(pilot, number)
                height.block_until_ready()
    print(f"mean height {float(height):.2f}")


if __name__ == "__main__":
    main()
