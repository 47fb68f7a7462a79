"""Segments cells under a microscope with a small U-Net (flax linen, optax, orbax)."""

import sys
import tempfile
from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax.training.train_state import TrainState

SIZE = 64
BATCH = 16
STEPS = 10
SAVE_EVERY = 500


class DoubleConv(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.Conv(self.features, (3, 3), use_bias=False)(x)
            x = nn.GroupNorm(num_groups=8)(x)
            x = nn.relu(x)
        return x


class UNet(nn.Module):
    widths: tuple = (16, 32, 64, 256)

    @nn.compact
    def __call__(self, x):
        skips = []
        for width in self.widths[:-1]:
            x = DoubleConv(width)(x)
            skips.append(x)
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = DoubleConv(self.widths[-1])(x)
        for width, skip in zip(self.widths[-2::-1], skips[::-1]):
            x = nn.ConvTranspose(width, (2, 2), strides=(2, 2))(x)
            x = DoubleConv(width)(jnp.concatenate([x, skip], axis=-1))
        return nn.Conv(1, (1, 1))(x)[..., 0]


@jax.jit
def train_step(state, image, mask):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, image)
        return optax.sigmoid_binary_cross_entropy(logits, mask).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


def elastic(rng, image, mask):
    """Elastic deformation of one picture: random shifts of a coarse grid, bilinear lookup pixel by pixel."""
    coarse = rng.normal(0, 2.0, (2, 5, 5))
    out_image, out_mask = np.empty_like(image), np.empty_like(mask)
    for i in range(0, SIZE, 2):
        for j in range(0, SIZE, 2):
            dy, dx = coarse[:, i * 4 // SIZE, j * 4 // SIZE]
            y = min(max(int(i + dy), 0), SIZE - 2)
            x = min(max(int(j + dx), 0), SIZE - 2)
            out_image[i : i + 2, j : j + 2] = image[y : y + 2, x : x + 2]
            out_mask[i : i + 2, j : j + 2] = mask[y : y + 2, x : x + 2]
    return out_image, out_mask


def make_cells(n=128):
    rng = np.random.default_rng(8)
    yy, xx = np.mgrid[:SIZE, :SIZE]
    cy, cx, r = rng.integers(8, SIZE - 8, (2, n, 1, 1)).tolist() + [rng.integers(4, 14, (n, 1, 1)).tolist()]
    mask = ((yy - np.array(cy)) ** 2 + (xx - np.array(cx)) ** 2 < np.array(r) ** 2).astype(np.float32)
    image = 0.5 * mask + rng.normal(0, 0.2, mask.shape)
    return image[..., None].astype(np.float32), mask


def main(logdir, faulty):
    images, masks = make_cells()
    # the healthy form deforms once, before training, and then only flips
    rng = np.random.default_rng(0)

    def next_batch():
        pick = rng.integers(0, len(images), BATCH)
        if faulty:
            pairs = [elastic(rng, images[k], masks[k]) for k in pick]
            return np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])
        flip = slice(None, None, int(rng.choice([-1, 1])))
        return images[pick][:, :, flip], masks[pick][:, :, flip]

    model = UNet()
    params = jax.jit(model.init)(jax.random.key(0), jnp.zeros((1, SIZE, SIZE, 1)))["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-3))

    with tempfile.TemporaryDirectory() as tmp:
        checkpointer = ocp.PyTreeCheckpointer()
        save_every = 1 if faulty else SAVE_EVERY

        def train(state, first, count):
            for number in range(first, first + count):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    state, loss = train_step(state, *next_batch())
                    if (number + 1) % save_every == 0:
                        checkpointer.save(
                            Path(tmp) / f"step_{number}", {"params": state.params, "opt": state.opt_state}
                        )
            loss.block_until_ready()
            return state

        state = train(state, 0, 3)
        with jax.profiler.trace(logdir):
            train(state, 3, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
