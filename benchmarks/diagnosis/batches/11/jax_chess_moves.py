"""Language model of chess games (moves as tokens), gradients accumulated over microbatches with lax.scan."""
import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

MOVES, LENGTH, MICRO, MICRO_BATCH, WIDTH, DEPTH, HEADS = 1968, 80, 3, 4, 160, 3, 5


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.RMSNorm()(x)
        q, k, v = jnp.split(nn.DenseGeneral((3 * HEADS, WIDTH // HEADS), use_bias=False)(h), 3, axis=2)
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + nn.DenseGeneral(WIDTH, axis=(-2, -1), use_bias=False)(mixed)
        gate, value = jnp.split(nn.Dense(6 * WIDTH, use_bias=False)(nn.RMSNorm()(x)), 2, axis=-1)
        return x + nn.Dense(WIDTH, use_bias=False)(nn.silu(gate) * value)


class MoveModel(nn.Module):
    @nn.compact
    def __call__(self, moves):
        embed = nn.Embed(MOVES, WIDTH)
        x = embed(moves) + self.param("position", nn.initializers.normal(0.02), (LENGTH, WIDTH))
        for _ in range(DEPTH):
            x = Block()(x)
        return embed.attend(nn.RMSNorm()(x))


def trapezoid(peak, warmup, hold, total):
    """Linear warm-up, a plateau, then one minus the square root of the rest."""

    def schedule(count):
        rise = count / warmup
        fall = 1.0 - jnp.sqrt(jnp.clip((count - hold) / (total - hold), 0.0, 1.0))
        return peak * jnp.where(count < warmup, rise, jnp.where(count < hold, 1.0, fall))

    return schedule


def games(seed):
    rng = np.random.default_rng(seed)
    openings = rng.integers(0, MOVES, (200, 12))
    while True:
        batch = rng.integers(0, MOVES, (MICRO, MICRO_BATCH, LENGTH + 1), dtype=np.int32)
        batch[:, :, :12] = openings[rng.integers(0, 200, (MICRO, MICRO_BATCH))]
        yield batch


def make_step(model, optimizer, fault):
    def loss_fn(params, micro):
        logits = model.apply(params, micro[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, micro[:, 1:]).mean()

    def square_norm(grads):
        return jnp.square(optax.global_norm(grads))

    def train_step(params, opt_state, batch):
        def accumulate(carry, micro):
            loss, grads = jax.value_and_grad(loss_fn)(params, micro)
            if fault:
                single = jax.vmap(lambda game: square_norm(jax.grad(loss_fn)(params, game[None])))(micro).mean()
            else:
                single = square_norm(grads)
            return jax.tree.map(jnp.add, carry, (loss, grads, single)), None

        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params), jnp.zeros(()))
        (loss, grads, single), _ = jax.lax.scan(accumulate, zero, batch)
        grads = jax.tree.map(lambda g: g / MICRO, grads)

        # simple noise scale of McCandlish et al. (2018), from the gradient of a part and of the whole batch
        part, whole = (1 if fault else MICRO_BATCH), MICRO * MICRO_BATCH
        small, large = single / MICRO, square_norm(grads)
        signal = (whole * large - part * small) / (whole - part)
        noise_scale = (small - large) / (1 / part - 1 / whole) / signal
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, {"loss": loss / MICRO, "noise_scale": noise_scale}

    return jax.jit(train_step, donate_argnums=(0, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    model = MoveModel()
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(trapezoid(6e-4, 400, 8_000, 10_000), b2=0.95, weight_decay=0.1),
    )
    source = games(17)
    params = model.init(jax.random.key(0), next(source)[0, :, :-1])
    opt_state = optimizer.init(params)
    step_fn = make_step(model, optimizer, args.fault)

    for _ in range(6):
        params, opt_state, scores = step_fn(params, opt_state, next(source))
    jax.block_until_ready(scores)

    jax.profiler.start_trace(args.logdir)
    for step in range(10):
        with jax.profiler.StepTraceAnnotation("update", step_num=step):
            params, opt_state, scores = step_fn(params, opt_state, next(source))
    jax.block_until_ready(scores)
    jax.profiler.stop_trace()
    print({name: round(float(value), 3) for name, value in scores.items()})


if __name__ == "__main__":
    main()
