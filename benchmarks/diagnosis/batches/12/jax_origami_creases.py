"""Predicts mountain, valley or flat for each crease of an origami pattern with a message-passing network."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

LOGDIR = sys.argv[1]

WIDTH = 96
ROUNDS = 4
SHEETS = 12
BUCKETS = ((1024, 4096), (1536, 6144))  # vertices, directed creases of a batch
WARMUP, RECORD = 10, 12


def crease_pattern(rng):
    vertices = int(rng.integers(60, 125))
    xy = rng.uniform(0, 1, (vertices, 2)).astype(np.float32)
    gap = ((xy[:, None] - xy[None]) ** 2).sum(-1) + np.eye(vertices) * 9
    near = np.argsort(gap, axis=1)[:, :4]
    src = np.repeat(np.arange(vertices), 4)
    dst = near.ravel()
    fold = (np.sign(np.sin(9 * xy[src, 0]) * np.cos(7 * xy[dst, 1])) + 1).astype(np.int32)
    return xy, src, dst, fold


def collate(patterns):
    """Joins the sheets to one graph and pads it to the smallest of the buckets; the last vertex is the dummy."""
    nv = sum(len(p[0]) for p in patterns)
    ne = sum(len(p[1]) for p in patterns)
    vmax, emax = next(b for b in BUCKETS if nv < b[0] and ne <= b[1])
    xy = np.zeros((vmax, 2), np.float32)
    src = np.full(emax, vmax - 1, np.int32)
    dst = np.full(emax, vmax - 1, np.int32)
    fold = np.zeros(emax, np.int32)
    real = np.zeros(emax, np.float32)
    v = e = 0
    for p, s, d, f in patterns:
        xy[v : v + len(p)] = p
        src[e : e + len(s)], dst[e : e + len(s)] = s + v, d + v
        fold[e : e + len(s)], real[e : e + len(s)] = f, 1.0
        v, e = v + len(p), e + len(s)
    return xy, src, dst, fold, real


class Message(nnx.Module):
    def __init__(self, rngs):
        self.edge = nnx.Linear(3 * WIDTH, WIDTH, rngs=rngs)
        self.edge_out = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.node = nnx.Linear(2 * WIDTH, WIDTH, rngs=rngs)
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)

    def __call__(self, nodes, edges, src, dst):
        m = nnx.gelu(self.edge(jnp.concatenate([nodes[src], nodes[dst], edges], -1)))
        edges = edges + self.edge_out(m)
        pooled = jax.ops.segment_sum(edges, dst, nodes.shape[0])
        return self.norm(nodes + nnx.gelu(self.node(jnp.concatenate([nodes, pooled], -1)))), edges


class Folder(nnx.Module):
    def __init__(self, rngs):
        self.vertex = nnx.Linear(2, WIDTH, rngs=rngs)
        self.crease = nnx.Linear(4, WIDTH, rngs=rngs)
        self.rounds = nnx.List([Message(rngs) for _ in range(ROUNDS)])
        self.head = nnx.Linear(WIDTH, 3, rngs=rngs)

    def __call__(self, xy, src, dst):
        along = xy[dst] - xy[src]
        length = jnp.sqrt((along**2).sum(-1, keepdims=True) + 1e-6)
        nodes = self.vertex(xy)
        edges = self.crease(jnp.concatenate([along, along / length * 0.1, ], -1))
        for message in self.rounds:
            nodes, edges = message(nodes, edges, src, dst)
        return self.head(edges)


@nnx.jit
def train_step(model, optimizer, xy, src, dst, fold, real):
    def loss_fn(model):
        losses = optax.softmax_cross_entropy_with_integer_labels(model(xy, src, dst), fold)
        return (losses * real).sum() / real.sum()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


def main():
    rng = np.random.default_rng(31)
    patterns = [crease_pattern(rng) for _ in range(300)]
    model = Folder(nnx.Rngs(31))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
    step_fn = nnx.cached_partial(train_step, model, optimizer)

    def batch():
        return collate([patterns[i] for i in rng.integers(0, len(patterns), SHEETS)])

    for vmax, emax in BUCKETS:  # compile both sizes
        step_fn(np.zeros((vmax, 2), np.float32), *np.zeros((3, emax), np.int32), np.ones(emax, np.float32))
    for _ in range(WARMUP):
        loss = step_fn(*batch())
    loss.block_until_ready()

    jax.profiler.start_trace(LOGDIR)
    total = 0.0
    for step in range(RECORD):
        loss = step_fn(*batch())
        if step % 6 == 5:
            total += float(loss)
    loss.block_until_ready()
    jax.profiler.stop_trace()
    print("crease loss", total / 2)


if __name__ == "__main__":
    main()
