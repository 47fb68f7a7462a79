import os

import jax
import jax.numpy as jnp
import numpy as np

PATCHES, CODES, WIDTH, HEADS, BLOCKS, START, MASKGIT_STEPS, VIDEOS = 16, 128, 64, 4, 2, 2, 6, 4


def init(key):
    keys = iter(jax.random.split(key, 4 + 6 * BLOCKS))
    normal = lambda *shape: jax.random.normal(next(keys), shape) / shape[0] ** 0.5
    params = {"embed": normal(CODES, WIDTH), "mask": normal(WIDTH), "action": normal(WIDTH), "head": normal(WIDTH, CODES)}
    for block in range(BLOCKS):
        for axis in ("space", "time"):
            params[f"{axis}{block}"] = {"qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "mlp": normal(WIDTH, WIDTH)}
    return params


def attend(layer, x, causal):
    q, k, v = jnp.split((x @ layer["qkv"]).reshape(*x.shape[:-1], HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("...qhd,...khd->...hqk", q, k) / q.shape[-1] ** 0.5
    if causal:
        scores = jnp.where(jnp.tri(x.shape[-2], dtype=bool), scores, -1e9)
    y = jnp.einsum("...hqk,...khd->...qhd", jax.nn.softmax(scores), v)
    x = x + y.reshape(x.shape) @ layer["out"]
    return x + jax.nn.gelu(x @ layer["mlp"])


def dynamics(params, tokens, mask, actions):
    x = jnp.where(mask[..., None], params["mask"], params["embed"][tokens])
    x = x + actions[:, :, None, None] * params["action"]
    for block in range(BLOCKS):
        x = attend(params[f"space{block}"], x, causal=False)
        x = attend(params[f"time{block}"], x.swapaxes(1, 2), causal=True).swapaxes(1, 2)
    return x @ params["head"]


def sample_frame(params, tokens, actions, key, temperature=1.0):
    def maskgit_step(carry, step):
        key, frame, mask = carry
        key, subkey = jax.random.split(key)
        video = jnp.concatenate([tokens, frame[:, None]], axis=1)
        video_mask = jnp.zeros(video.shape, bool).at[:, -1].set(mask)
        unmasked = jnp.cos(jnp.pi * (step + 1) / (2 * MASKGIT_STEPS))
        logits = dynamics(params, video, video_mask, actions)[:, -1] / (temperature * (1.01 - unmasked))
        sampled = jax.random.categorical(subkey, logits)
        probs = jnp.take_along_axis(jax.nn.softmax(logits), sampled[..., None], -1)[..., 0]
        frame = jnp.where(mask, sampled, frame)
        order = jnp.argsort(jnp.argsort(-(probs + ~mask), axis=-1), axis=-1)
        return (key, frame, order >= jnp.round(PATCHES * (1.0 - unmasked))), None

    mask = jnp.ones((len(tokens), PATCHES), bool)
    carry = (key, jnp.zeros((len(tokens), PATCHES), jnp.int32), mask)
    (_, frame, _), _ = jax.lax.scan(maskgit_step, carry, jnp.arange(MASKGIT_STEPS))
    return frame


def autoreg_sample(params, tokens, actions, key, frames):
    for frame_idx in range(START, START + frames):
        key, subkey = jax.random.split(key)
        frame = sample_frame(params, tokens, actions[:, : frame_idx + 1], subkey)
        tokens = jnp.concatenate([tokens, frame[:, None]], axis=1)
        if frame_idx % 3 == 0:
            print("frame", frame_idx, frame[0, :4], flush=True)
    return tokens


frames = int(os.environ.get("STEPS", 14))
rng = np.random.default_rng(0)
params = init(jax.random.key(0))
start = jnp.array(rng.integers(CODES, size=(VIDEOS, START, PATCHES)), jnp.int32)
actions = jnp.array(rng.integers(-1, 2, size=(VIDEOS, START + frames)), jnp.float32)
video = autoreg_sample(params, start, actions, jax.random.key(1), frames)
print(video.shape, np.bincount(np.asarray(video).ravel(), minlength=CODES).max())
