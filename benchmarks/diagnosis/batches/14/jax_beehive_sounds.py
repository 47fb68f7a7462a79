"""Hears from the sound of a beehive whether it will swarm: a network in two pipeline stages, one on each device.

    python jax_beehive_sounds.py LOGDIR [--fault]
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2 --xla_cpu_multi_thread_eigen=false"

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

FRAMES, BANDS, MOODS = 512, 32, 4
WIDTH, BLOCKS = 64, 8
POOL_AT, POOL = 4, 16
MICRO, PARTS = 6, 6
WARMUP, RECORDED = 6, 10


def hives(number=144):
    rng = np.random.default_rng(47)
    mood = rng.integers(0, MOODS, number).astype(np.int32)
    hum = np.sin(np.arange(FRAMES)[None, :, None] * (0.05 + 0.04 * mood[:, None, None]))
    sound = hum + rng.normal(0, 0.7, (number, FRAMES, BANDS))
    return sound.astype(np.float32), mood


def init(key):
    keys = jax.random.split(key, 2 * BLOCKS + 2)
    blocks = []
    for i in range(BLOCKS):
        near = jax.random.normal(keys[2 * i], (3 * WIDTH, WIDTH)) / (3 * WIDTH) ** 0.5
        mix = jax.random.normal(keys[2 * i + 1], (WIDTH, WIDTH)) / WIDTH**0.5
        blocks.append({"near": near, "mix": mix})
    return {
        "in": jax.random.normal(keys[-2], (BANDS, WIDTH)) / BANDS**0.5,
        "blocks": blocks,
        "out": jax.random.normal(keys[-1], (WIDTH, MOODS)) / WIDTH**0.5,
    }


def run_blocks(params, x, start, stop):
    for number in range(start, stop):
        block = params["blocks"][number]
        if number == POOL_AT:
            x = x.reshape(MICRO, FRAMES // POOL, POOL, WIDTH).mean(axis=2)
        wide = jnp.concatenate([jnp.roll(x, 1, axis=1), x, jnp.roll(x, -1, axis=1)], axis=-1)
        x = x + 0.3 * jnp.tanh(wide @ block["near"]) @ block["mix"]
    return x


def even_cut():
    """The cut at which the dearer of the two stages is cheapest, by the frames that each block works on."""
    frames = [FRAMES if number < POOL_AT else FRAMES // POOL for number in range(BLOCKS)]
    return min(range(1, POOL_AT + 1), key=lambda cut: max(sum(frames[:cut]), sum(frames[cut:])))


def make_step(mesh, tx, cut):
    def local_loss(params, sound, mood):
        stage = jax.lax.axis_index("stage")

        @jax.checkpoint
        def front(x, y, sent):
            return run_blocks(params, x @ params["in"], 0, cut), jnp.float32(0)

        @jax.checkpoint
        def back(x, y, sent):
            logits = run_blocks(params, sent, cut, BLOCKS).mean(axis=1) @ params["out"]
            loss = optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
            return jnp.zeros_like(sent), loss / PARTS

        def idle(x, y, sent):
            return jnp.zeros_like(sent), jnp.float32(0)

        def tick(carry, now):
            sent, loss = carry
            x = sound[jnp.minimum(now, PARTS - 1)]
            y = mood[jnp.maximum(now - 1, 0)]
            busy = (now >= stage) & (now < PARTS + stage)
            done, more = jax.lax.switch(jnp.where(busy, stage, 2), [front, back, idle], x, y, sent)
            return (jax.lax.ppermute(done, "stage", [(0, 1)]), loss + more), None

        start = (jnp.zeros((MICRO, FRAMES, WIDTH)), jnp.float32(0))
        (_, loss), _ = jax.lax.scan(tick, start, jnp.arange(PARTS + 1))
        return loss

    def step(params, opt_state, sound, mood):
        loss, grads = jax.value_and_grad(local_loss)(params, sound, mood)
        loss, grads = jax.lax.psum((loss, grads), "stage")
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    staged = jax.shard_map(step, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
    return jax.jit(staged, donate_argnums=(0, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    mesh = Mesh(np.array(jax.devices()), ("stage",))
    everywhere = jax.sharding.NamedSharding(mesh, P())
    sound, mood = hives()
    params = init(jax.random.key(47))
    tx = optax.adam(1e-3)
    params, opt_state = jax.device_put((params, tx.init(params)), everywhere)
    step = make_step(mesh, tx, BLOCKS // 2 if args.fault else even_cut())
    rng = np.random.default_rng(48)

    def run(steps, params, opt_state):
        for _ in range(steps):
            rows = rng.integers(0, len(sound), (PARTS, MICRO))
            batch = jax.device_put((sound[rows], mood[rows]), everywhere)
            params, opt_state, loss = step(params, opt_state, *batch)
        return params, opt_state, loss.block_until_ready()

    params, opt_state, loss = run(WARMUP, params, opt_state)
    jax.profiler.start_trace(args.logdir)
    params, opt_state, loss = run(RECORDED, params, opt_state)
    jax.profiler.stop_trace()
    print(f"loss {float(loss):.3f}")


if __name__ == "__main__":
    main()
