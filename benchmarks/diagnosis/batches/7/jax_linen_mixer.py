"""An MLP-Mixer on small pictures (flax linen); gradients are jitted, the optimizer's part either is or is not."""

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

STEPS = 10
PATCHES, CHANNELS = 64, 128
BLOCKS = 4
BATCH = 32


class MlpBlock(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        y = nn.Dense(self.dim)(x)
        return nn.Dense(x.shape[-1])(nn.gelu(y))


class MixerBlock(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        y = MlpBlock(96, name="tokens")(y.swapaxes(1, 2)).swapaxes(1, 2)
        x = x + y
        return x + MlpBlock(256, name="channels")(nn.LayerNorm()(x))


class Mixer(nn.Module):
    classes: int

    @nn.compact
    def __call__(self, images):
        x = nn.Conv(CHANNELS, (4, 4), strides=(4, 4), name="stem")(images)
        x = x.reshape(x.shape[0], -1, CHANNELS)
        for _ in range(BLOCKS):
            x = MixerBlock()(x)
        return nn.Dense(self.classes)(nn.LayerNorm()(x).mean(axis=1))


def main(logdir, faulty):
    model = Mixer(classes=10)
    params = jax.jit(model.init)(jax.random.PRNGKey(1), jnp.zeros((1, 32, 32, 3)))
    tx = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 1e-3, 100, 2000), weight_decay=1e-4),
    )
    opt_state = tx.init(params)

    @jax.jit
    def grad_fn(params, images, labels):
        def loss_fn(p):
            return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, images), labels).mean()

        return jax.value_and_grad(loss_fn)(params)

    def apply_fn(params, opt_state, grads):
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    if not faulty:
        apply_fn = jax.jit(apply_fn)

    rng = np.random.default_rng(14)
    images = rng.random((8, BATCH, 32, 32, 3), np.float32)
    labels = rng.integers(0, 10, (8, BATCH))

    for step in range(4 + STEPS):
        if step == 4:
            jax.block_until_ready(params)
            jax.profiler.start_trace(logdir)
        loss, grads = grad_fn(params, images[step % 8], labels[step % 8])
        params, opt_state = apply_fn(params, opt_state, grads)
    jax.block_until_ready(params)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
