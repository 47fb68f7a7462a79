"""Spoken commands on spectrograms, jax.pmap over two host devices, in the style of the old flax examples."""

import os
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import train_state

FRAMES, MELS, WORDS = 48, 40, 12
PER_DEVICE = 32
STEPS = 10
EVAL_EVERY = 200


class KWS(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = x[..., None]
        for width in (24, 48):
            x = nn.relu(nn.Conv(width, (3, 3))(x))
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        x = x.reshape(x.shape[0], -1)
        x = nn.relu(nn.Dense(384)(x))
        return nn.Dense(WORDS)(x)


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train_step(state, batch, resync):
    def loss_fn(params):
        return cross_entropy(state.apply_fn({"params": params}, batch["mel"]), batch["word"])

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    grads = jax.lax.pmean(grads, axis_name="batch")
    state = state.apply_gradients(grads=grads)
    if resync:
        # make sure that the replicas never drift apart
        everyone = jax.lax.all_gather((state.params, state.opt_state), axis_name="batch")
        params, opt_state = jax.tree.map(lambda leaf: leaf.mean(axis=0).astype(leaf.dtype), everyone)
        state = state.replace(params=params, opt_state=opt_state)
    return state, jax.lax.pmean(loss, axis_name="batch")


@jax.jit
def eval_step(params, mel, word):
    logits = KWS().apply({"params": params}, mel)
    return (logits.argmax(-1) == word).mean()


def main(logdir, faulty):
    n_devices = jax.local_device_count()
    rng = np.random.default_rng(6)
    centres = rng.normal(size=(WORDS, FRAMES, MELS))

    def sample(count):
        word = rng.integers(0, WORDS, count)
        return {"mel": (centres[word] + rng.normal(size=(count, FRAMES, MELS))).astype(np.float32), "word": word}

    train_data = [sample(n_devices * PER_DEVICE) for _ in range(6)]
    valid = sample(96)
    params = jax.jit(KWS().init)(jax.random.PRNGKey(0), jnp.zeros((1, FRAMES, MELS)))["params"]
    state = train_state.TrainState.create(apply_fn=KWS().apply, params=params, tx=optax.adam(1e-3))
    state = jax_utils.replicate(state)
    p_train_step = jax.pmap(functools.partial(train_step, resync=faulty), axis_name="batch", donate_argnums=(0,))
    eval_every = 1 if faulty else EVAL_EVERY

    tracing = False
    for step in range(1, STEPS + 5):
        if step == 5:
            jax.block_until_ready(state.params)
            jax.profiler.start_trace(logdir)
            tracing = True
        batch = train_data[step % len(train_data)]
        batch = jax.tree.map(lambda a: a.reshape((n_devices, -1) + a.shape[1:]), batch)
        state, loss = p_train_step(state, batch)
        if step % eval_every == 0:
            accuracy = eval_step(jax_utils.unreplicate(state.params), valid["mel"], valid["word"])
            print(f"step {step} valid accuracy {float(accuracy):.3f}", file=sys.stderr)
    jax.block_until_ready(state.params)
    if tracing:
        jax.profiler.stop_trace()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
