"""Assigns pottery sherds to wares from their drawn profiles. Flax, grain for the data, orbax for the checkpoint.

    python jax_sherd_profiles.py LOGDIR
"""
import argparse
import shutil
import tempfile
from pathlib import Path

import flax.linen as nn
import grain.python as grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax.training import train_state

WARES = 14
POINTS = 160
WIDTH = 128
BATCH = 24


class Drawings(grain.RandomAccessDataSource):
    def __init__(self, count=2000):
        rng = np.random.default_rng(90)
        self.ware = rng.integers(0, WARES, count)
        angle = np.linspace(0, np.pi, POINTS)
        radius = 1 + 0.3 * np.sin(angle * (1 + self.ware[:, None] / 3)) + rng.normal(0, 0.02, (count, POINTS))
        self.outline = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).astype(np.float32)

    def __len__(self):
        return len(self.ware)

    def __getitem__(self, index):
        return {"outline": self.outline[index], "ware": np.int32(self.ware[index])}


class Break(grain.RandomMapTransform):
    """Turns and scales a profile and blanks the part that broke off."""

    def random_map(self, element, rng):
        turn, scale = rng.uniform(-0.3, 0.3), rng.uniform(0.8, 1.2)
        rotation = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]], np.float32)
        outline = element["outline"] @ rotation.astype(np.float32)
        begin = int(rng.integers(0, POINTS - 30))
        outline[begin:begin + 30] = 0
        return {**element, "outline": outline}


class Block(nn.Module):
    heads: int = 4

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=self.heads)(y)
        y = nn.gelu(nn.Dense(3 * x.shape[-1])(nn.LayerNorm()(x)))
        return x + nn.Dense(x.shape[-1])(y)


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, outline):
        pairs = outline.reshape(outline.shape[0], POINTS // 4, 8)
        x = nn.Dense(WIDTH)(pairs)
        x = x + self.param("position", nn.initializers.normal(0.02), (POINTS // 4, WIDTH))
        for _ in range(2):
            x = Block()(x)
        return nn.Dense(WARES)(nn.LayerNorm()(x).mean(axis=1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true", help="no effect")
    args = parser.parse_args()

    source = Drawings()
    loader = grain.DataLoader(
        data_source=source,
        sampler=grain.IndexSampler(len(source), shuffle=True, seed=4, shard_options=grain.NoSharding()),
        operations=[Break(), grain.Batch(BATCH, drop_remainder=True)],
        worker_count=0,
        read_options=grain.ReadOptions(num_threads=2, prefetch_buffer_size=128),
    )
    model = Classifier()
    parameters = model.init(jax.random.key(0), jnp.zeros((1, POINTS, 2)))
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 200)
    state = train_state.TrainState.create(apply_fn=model.apply, params=parameters, tx=optax.adamw(schedule))

    def loss_fn(parameters, batch):
        logits = model.apply(parameters, batch["outline"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["ware"]).mean()

    def train_step(state, batch):
        loss, gradients = jax.value_and_grad(loss_fn)(state.params, batch)
        return state.apply_gradients(grads=gradients), loss

    train_step = jax.jit(train_step, donate_argnums=0)
    folder = Path(tempfile.mkdtemp(prefix="sherds-"))
    options = ocp.CheckpointManagerOptions(max_to_keep=1, save_interval_steps=25)
    try:
        with ocp.CheckpointManager(folder, options=options) as manager:
            batches = iter(loader)
            for step in range(26):
                if step == 8:
                    jax.block_until_ready(state)
                    jax.profiler.start_trace(args.logdir)
                with jax.profiler.StepTraceAnnotation("train", step_num=step):
                    state, loss = train_step(state, jax.device_put(next(batches)))
                if step == 19:
                    jax.block_until_ready(state)
                    jax.profiler.stop_trace()
                    print(f"step {step}: loss {float(loss):.3f}")
                if step > 0 and manager.should_save(step):
                    manager.save(step, args=ocp.args.StandardSave(state))
            manager.wait_until_finished()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
