"""Speed forecast on a road network with a residual graph convolution net, plain jax.numpy."""
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

NODES = 1024
HISTORY = 12
HIDDEN = 128
BATCH = 3
LAYERS = 3
WARMUP, STEPS = 6, 10


def road_network(rng):
    """Crossings in the plane, each with its four nearest neighbours."""
    xy = rng.uniform(0, 1, (NODES, 2))
    dist = ((xy[:, None] - xy[None]) ** 2).sum(-1)
    near = np.argpartition(dist, 5, axis=1)[:, :5]
    src = near.reshape(-1)
    dst = np.repeat(np.arange(NODES), 5)
    keep = src != dst
    src = np.concatenate([src[keep], np.arange(NODES)])
    dst = np.concatenate([dst[keep], np.arange(NODES)])
    by_dst = np.argsort(dst, kind="stable")
    src, dst = src[by_dst], dst[by_dst]
    degree = np.bincount(dst, minlength=NODES)
    weight = 1.0 / degree[dst]
    return xy, src.astype(np.int32), dst.astype(np.int32), weight.astype(np.float32)


def speeds(xy, rng, length=96):
    t = np.arange(length)[:, None]
    phase = 6 * xy[:, 0] + 4 * xy[:, 1]
    flow = np.sin(2 * np.pi * t / 24 + phase) + 0.3 * np.sin(2 * np.pi * t / 7 - phase)
    return (flow + 0.1 * rng.standard_normal(flow.shape)).astype(np.float32)


def adjacency(src, dst, weight):
    a = np.zeros((NODES, NODES), np.float32)
    np.add.at(a, (dst, src), weight)
    return jnp.asarray(a)


def neighbour_mean(src, dst, weight, adj=None):
    src, dst, weight = jnp.asarray(src), jnp.asarray(dst), jnp.asarray(weight)

    def matrix_form(h):
        return adj @ h

    def edge_form(h):
        return jax.ops.segment_sum(h[src] * weight[:, None], dst, NODES, indices_are_sorted=True)

    return edge_form if adj is None else matrix_form


def init(key):
    def dense(k, a, b):
        return {"w": jax.random.normal(k, (a, b)) / np.sqrt(a), "b": jnp.zeros((b,))}

    keys = jax.random.split(key, 2 * LAYERS + 2)
    return {
        "in": dense(keys[0], HISTORY, HIDDEN),
        "self": [dense(k, HIDDEN, HIDDEN) for k in keys[1:1 + LAYERS]],
        "near": [dense(k, HIDDEN, HIDDEN) for k in keys[1 + LAYERS:-1]],
        "out": dense(keys[-1], HIDDEN, 1),
    }


def linear(p, x):
    return x @ p["w"] + p["b"]


def forecast(params, x, spread):
    h = jax.nn.relu(linear(params["in"], x))
    for own, near in zip(params["self"], params["near"]):
        h = h + jax.nn.relu(linear(own, h) + linear(near, spread(h)))
    return linear(params["out"], h)[:, 0]


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()

    rng = np.random.default_rng(11)
    xy, src, dst, weight = road_network(rng)
    series = speeds(xy, rng)
    adj = adjacency(src, dst, weight) if args.fault else None
    spread = neighbour_mean(src, dst, weight, adj)
    tx = optax.adamw(optax.cosine_decay_schedule(3e-3, 500))

    def objective(params, x, y):
        predicted = jax.vmap(lambda w: forecast(params, w, spread))(x)
        return jnp.mean((predicted - y) ** 2)

    @jax.jit
    def step_fn(params, opt, x, y):
        loss, grads = jax.value_and_grad(objective)(params, x, y)
        updates, opt = tx.update(grads, opt, params)
        return optax.apply_updates(params, updates), opt, loss

    params = init(jax.random.PRNGKey(0))
    opt = tx.init(params)

    def window():
        t = rng.integers(HISTORY, len(series), BATCH)
        return np.stack([series[i - HISTORY:i].T for i in t]), series[t]

    for _ in range(WARMUP):
        params, opt, loss = step_fn(params, opt, *window())
    jax.block_until_ready(loss)

    jax.profiler.start_trace(args.logdir)
    for _ in range(STEPS):
        params, opt, loss = step_fn(params, opt, *window())
    jax.block_until_ready(loss)
    jax.profiler.stop_trace()
    print("last loss", float(loss))


if __name__ == "__main__":
    main()
