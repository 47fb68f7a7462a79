"""Fits a neural differential equation to coffee roasts: bean temperature, moisture and colour under gas and air."""
import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

STATE, CONTROL, TICKS = 3, 2, 48
ROASTS, BATCH, STEP = 2000, 128, 0.25
WARMUP, CAPTURED = 6, 12


def roasts(seed=14):
    rng = np.random.default_rng(seed)
    gas = np.clip(np.cumsum(rng.normal(scale=0.1, size=(ROASTS, TICKS)), axis=1) + 0.6, 0, 1)
    air = np.clip(np.cumsum(rng.normal(scale=0.1, size=(ROASTS, TICKS)), axis=1) + 0.3, 0, 1)
    bean = np.zeros((ROASTS, TICKS + 1, STATE))
    bean[:, 0, 1] = rng.uniform(0.8, 1.0, ROASTS)
    for k in range(TICKS):
        heat, wet, colour = bean[:, k].T
        dry = 0.3 * wet * heat
        change = np.stack([gas[:, k] - 0.3 * air[:, k] - 0.4 * heat - dry, -dry, 0.2 * np.maximum(heat - 0.5, 0)], -1)
        bean[:, k + 1] = bean[:, k] + STEP * change
    controls = np.stack([gas, air], -1)
    return jnp.asarray(controls, jnp.float32), jnp.asarray(bean, jnp.float32)


class Roaster(eqx.Module):
    field: eqx.nn.MLP

    def __init__(self, key):
        self.field = eqx.nn.MLP(STATE + CONTROL, STATE, 128, 3, activation=jax.nn.softplus, key=key)

    def __call__(self, start, controls):
        def rate(bean, control):
            return self.field(jnp.concatenate([bean, control]))

        def tick(bean, control):
            k1 = rate(bean, control)
            k2 = rate(bean + 0.5 * STEP * k1, control)
            k3 = rate(bean + 0.5 * STEP * k2, control)
            k4 = rate(bean + STEP * k3, control)
            bean = bean + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return bean, bean

        return jax.lax.scan(tick, start, controls)[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()

    controls, beans = roasts()
    model = Roaster(jax.random.key(0))
    optimizer = optax.adabelief(optax.warmup_cosine_decay_schedule(0.0, 3e-3, 100, 4000))
    opt_state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit(donate="all-except-first")
    def train_step(data, model, opt_state, key):
        controls, beans = data
        key, draw = jax.random.split(key)
        rows = jax.random.randint(draw, (BATCH,), 0, ROASTS)

        def loss_fn(model):
            path = jax.vmap(model)(beans[rows, 0], controls[rows])
            return jnp.mean((path - beans[rows, 1:]) ** 2)

        loss, grads = eqx.filter_value_and_grad(loss_fn)(model)
        updates, opt_state = optimizer.update(grads, opt_state)
        return eqx.apply_updates(model, updates), opt_state, key, loss

    key = jax.random.key(1)
    for _ in range(WARMUP):
        model, opt_state, key, loss = train_step((controls, beans), model, opt_state, key)
    loss.block_until_ready()
    with jax.profiler.trace(args.logdir):
        for _ in range(CAPTURED):
            model, opt_state, key, loss = train_step((controls, beans), model, opt_state, key)
        loss.block_until_ready()
    print("loss:", round(float(loss), 5))


if __name__ == "__main__":
    main()
