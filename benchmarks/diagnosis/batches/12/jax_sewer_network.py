"""Water level at the manholes of a sewer network during storms: graph network on the whole network."""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

MANHOLES = 3600
EXTRA = 1100
INPUTS, WIDTH, HIDDEN = 24, 64, 256
ROUNDS = 3
WARM_UP, RECORDED = 6, 10


def network(seed=2):
    rng = np.random.default_rng(seed)
    child = np.arange(1, MANHOLES)
    parent = (child * rng.random(MANHOLES - 1) ** 0.2).astype(np.int64)
    loops = rng.integers(0, MANHOLES, (2, EXTRA))
    a, b = np.concatenate([child, loops[0]]), np.concatenate([parent, loops[1]])
    nodes = np.arange(MANHOLES)
    pairs = np.unique(np.stack([np.concatenate([a, b, nodes]), np.concatenate([b, a, nodes])]), axis=1)
    degree = np.bincount(pairs[1], minlength=MANHOLES).astype(np.float32)
    return pairs.astype(np.int32), 1 / np.sqrt(degree)


def storms(seed=5):
    rng = np.random.default_rng(seed)
    shape = rng.normal(size=(MANHOLES, INPUTS)).astype(np.float32)
    while True:
        rain = rng.gamma(0.6, 2.0, INPUTS).astype(np.float32)
        x = rain * (1 + 0.2 * shape)
        yield x, np.log1p(x[:, -6:].sum(1) + 0.3 * np.abs(shape[:, 0]))


def init(key):
    dims = {"enter": (INPUTS, WIDTH), "leave": (WIDTH, 1)}
    for r in range(ROUNDS):
        dims |= {f"mix{r}": (WIDTH, WIDTH), f"up{r}": (WIDTH, HIDDEN), f"down{r}": (HIDDEN, WIDTH)}
    keys = jax.random.split(key, len(dims))
    glorot = jax.nn.initializers.glorot_normal()
    return {name: (glorot(k, d), jnp.zeros(d[1])) for k, (name, d) in zip(keys, dims.items())}


def dense(layer, x):
    return x @ layer[0] + layer[1]


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def neighbours(pairs, scale):
    source, target = jnp.asarray(pairs)
    weight = jnp.asarray(scale)[source] * jnp.asarray(scale)[target]
    order = jnp.argsort(target, stable=True)
    source, target, weight = source[order], target[order], weight[order]

    def gather(h):
        return jax.ops.segment_sum(
            h[source] * weight[:, None], target, num_segments=MANHOLES, indices_are_sorted=True
        )

    return gather


def laplacian(pairs, scale):
    matrix = np.zeros((MANHOLES, MANHOLES), np.float32)
    matrix[pairs[1], pairs[0]] = scale[pairs[0]] * scale[pairs[1]]
    matrix = jnp.asarray(matrix)
    return lambda h: matrix @ h


def make_step(optimizer, spread):
    def levels(params, x):
        h = dense(params["enter"], jnp.log1p(x))
        for r in range(ROUNDS):
            h = norm(h + spread(dense(params[f"mix{r}"], h)))
            h = norm(h + dense(params[f"down{r}"], jax.nn.gelu(dense(params[f"up{r}"], h))))
        return dense(params["leave"], h)[:, 0]

    def loss_fn(params, x, y):
        return optax.huber_loss(levels(params, x), y).mean()

    @jax.jit
    def train_step(params, state, x, y):
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    return train_step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    pairs, scale = network()
    spread = laplacian(pairs, scale) if args.fault else neighbours(pairs, scale)
    optimizer = optax.adamw(1e-3)
    params = init(jax.random.key(0))
    state = optimizer.init(params)
    train_step = make_step(optimizer, spread)
    events = storms()
    for _ in range(WARM_UP):
        params, state, loss = train_step(params, state, *next(events))
    loss.block_until_ready()

    jax.profiler.start_trace(args.logdir)
    for step in range(RECORDED):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            params, state, loss = train_step(params, state, *next(events))
            loss.block_until_ready()
    jax.profiler.stop_trace()
    print(f"loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
