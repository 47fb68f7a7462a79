"""Segments cells in microscope tiles: PNG bytes -> Grain -> small U-shaped net (Flax NNX)."""
import argparse
import io
import json
import pathlib
import tempfile

import grain.python as grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from PIL import Image

FULL, SIDE, BATCH = 320, 48, 8
WARMUP, STEPS = 6, 10


def draw_tiles(n, seed):
    """Blobs on a noisy ground, as PNG bytes together with their masks."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:FULL, :FULL]
    for _ in range(n):
        mask = np.zeros((FULL, FULL), bool)
        for cx, cy, r in zip(rng.uniform(0, FULL, 7), rng.uniform(0, FULL, 7), rng.uniform(14, 36, 7)):
            mask |= (xx - cx) ** 2 + (yy - cy) ** 2 < r * r
        image = np.clip(90 + 80 * mask + rng.normal(0, 18, mask.shape), 0, 255).astype(np.uint8)
        files = []
        for plane in (image, mask.astype(np.uint8) * 255):
            buf = io.BytesIO()
            Image.fromarray(plane).save(buf, "PNG", compress_level=1)
            files.append(buf.getvalue())
        yield tuple(files)


def read_pair(files):
    image, mask = (Image.open(io.BytesIO(f)) for f in files)
    image = np.asarray(image.resize((SIDE, SIDE), Image.LANCZOS), np.float32) / 255
    mask = np.asarray(mask.resize((SIDE, SIDE), Image.BILINEAR)) > 127
    return image[..., None], mask.astype(np.float32)[..., None]


class PngTiles:
    def __init__(self, files):
        self.files = list(files)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return read_pair(self.files[i])


class ReadyTiles(PngTiles):
    def __init__(self, files):
        self.files = [read_pair(f) for f in files]

    def __getitem__(self, i):
        return self.files[i]


class Flip(grain.RandomMapTransform):
    def random_map(self, pair, rng):
        axes = tuple(a for a in (0, 1) if rng.random() < 0.5)
        return tuple(np.flip(x, axes) for x in pair)


class MaskNet(nnx.Module):
    def __init__(self, rngs, width=16):
        def conv(a, b, stride=1):
            return nnx.Conv(a, b, (3, 3), strides=stride, rngs=rngs)

        self.enter = conv(1, width)
        self.down = conv(width, 2 * width, 2)
        self.mid = nnx.List([conv(2 * width, 4 * width, 2), conv(4 * width, 4 * width)])
        self.up = conv(6 * width, 2 * width)
        self.leave = conv(3 * width, 1)

    def __call__(self, x):
        a = nnx.relu(self.enter(x))
        b = nnx.relu(self.down(a))
        c = b
        for layer in self.mid:
            c = nnx.relu(layer(c))
        c = jax.image.resize(c, b.shape[:-1] + c.shape[-1:], "nearest")
        d = nnx.relu(self.up(jnp.concatenate([b, c], -1)))
        d = jax.image.resize(d, a.shape[:-1] + d.shape[-1:], "nearest")
        return self.leave(jnp.concatenate([a, d], -1))


@nnx.jit
def train_step(model, optimizer, image, mask):
    def loss_fn(m):
        logits = m(image)
        p = nnx.sigmoid(logits)
        dice = 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)
        return optax.sigmoid_binary_cross_entropy(logits, mask).mean() + dice

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss, grads


def summarize(out, step, **trees):
    row = {"step": step}
    for name, tree in trees.items():
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            values = np.asarray(leaf).ravel()
            counts, edges = np.histogram(values, bins=64)
            row[name + jax.tree_util.keystr(path)] = {
                "counts": counts.tolist(), "edges": edges.tolist(),
                "quantiles": np.quantile(values, [0.05, 0.5, 0.95]).tolist()}
    out.write(json.dumps(row) + "\n")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()

    source_type, summary_every = (PngTiles, 1) if args.fault else (ReadyTiles, 100)
    source = source_type(draw_tiles(72, 0))
    loader = iter(grain.DataLoader(
        data_source=source, worker_count=0,
        sampler=grain.IndexSampler(len(source), grain.NoSharding(), shuffle=True, num_epochs=None, seed=1),
        operations=[Flip(), grain.Batch(BATCH, drop_remainder=True)],
        read_options=grain.ReadOptions(num_threads=1, prefetch_buffer_size=16)))

    model = MaskNet(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    out = open(pathlib.Path(tempfile.mkdtemp()) / "summaries.jsonl", "w")

    def one(step):
        image, mask = next(loader)
        loss, grads = train_step(model, optimizer, image, mask)
        if (step + 1) % summary_every == 0:
            summarize(out, step, weights=nnx.state(model, nnx.Param), grads=grads)
        return loss

    for step in range(WARMUP):
        loss = one(step)
    loss.block_until_ready()
    jax.profiler.start_trace(args.logdir)
    for step in range(WARMUP, WARMUP + STEPS):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            loss = one(step)
    loss.block_until_ready()
    jax.profiler.stop_trace()
    print("last loss", float(loss))


if __name__ == "__main__":
    main()
