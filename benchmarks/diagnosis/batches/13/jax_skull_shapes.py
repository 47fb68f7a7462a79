"""Energy model of mammal skull shapes (3-D landmarks), trained by contrastive divergence with Langevin samples."""
import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax

LANDMARKS, SPECIMENS, BATCH = 70, 40_000, 320
LANGEVIN_STEPS, STEP_SIZE = 28, 0.02


def landmarks(rng):
    """Raw coordinates in millimetres, one row a specimen."""
    size = rng.lognormal(3.5, 0.6, (SPECIMENS, 1))
    modes = rng.normal(0, 1, (12, LANDMARKS * 3))
    shape = rng.normal(0, 1, (SPECIMENS, 12)) @ modes
    return (size * (4 + 0.2 * shape) + rng.normal(0, 0.3, shape.shape)).astype("float32")


class Specimens:
    def __init__(self, raw, lazy):
        self.raw, self.lazy = raw, lazy
        self.table = None if lazy else self.standardise()

    def standardise(self):
        return (self.raw - self.raw.mean(axis=0)) / self.raw.std(axis=0)

    def batch(self, rng):
        rows = rng.integers(0, len(self.raw), BATCH)
        table = self.standardise() if self.lazy else self.table
        return table[rows]


def init(key, widths=(LANDMARKS * 3, 384, 384, 192)):
    layers = []
    for i, o in zip(widths, widths[1:]):
        key, sub = jax.random.split(key)
        layers.append((jax.random.normal(sub, (i, o)) * i**-0.5, jnp.zeros(o)))
    return {"layers": layers, "out": jax.random.normal(key, (widths[-1],)) * 0.05}


def energy(params, x):
    h = x
    for w, b in params["layers"]:
        h = jax.nn.softplus(h @ w + b)
    return h @ params["out"] + 0.5 * 0.1 * jnp.sum(x**2, axis=-1)


def negatives(params, start, key):
    force = jax.grad(lambda x: energy(params, x).sum())

    def move(i, x):
        noise = jax.random.normal(jax.random.fold_in(key, i), x.shape)
        return x - STEP_SIZE * force(x) + 0.01 * noise

    return jax.lax.fori_loop(0, LANGEVIN_STEPS, move, start)


optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-4, b1=0.0))


@functools.partial(jax.jit, donate_argnums=(0, 1))
def update(params, opt_state, real, fake):
    def divergence(params):
        up, down = energy(params, real), energy(params, fake)
        return jnp.mean(up - down) + 0.05 * jnp.mean(up**2 + down**2)

    loss, grads = jax.value_and_grad(divergence)(params)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    rng = np.random.default_rng(9)
    specimens = Specimens(landmarks(rng), lazy=args.fault)
    sample = negatives if args.fault else jax.jit(negatives)
    params = init(jax.random.key(9))
    opt_state = optimizer.init(params)
    key = jax.random.key(10)
    chains = jax.random.normal(key, (BATCH, LANDMARKS * 3))

    def iteration(step, params, opt_state, chains):
        real = specimens.batch(rng)
        chains = sample(params, chains, jax.random.fold_in(key, step))
        params, opt_state, loss = update(params, opt_state, real, chains)
        return params, opt_state, chains, loss

    for step in range(6):
        params, opt_state, chains, loss = iteration(step, params, opt_state, chains)
    jax.block_until_ready(loss)

    with jax.profiler.trace(args.logdir):
        for step in range(6, 17):
            with jax.profiler.StepTraceAnnotation("cd", step_num=step):
                params, opt_state, chains, loss = iteration(step, params, opt_state, chains)
                loss.block_until_ready()
    print("contrastive divergence", float(loss))


if __name__ == "__main__":
    main()
