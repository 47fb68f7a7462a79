"""Fits hearing aids: a common gain network is tuned for a few steps to the audiogram of each client in turn.

    python jax_hearing_aids.py LOGDIR [--fault]
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

BANDS, TONES = 65, 8
FRAMES = 4096
STEPS = 4
SIZES = (BANDS + TONES, 512, 512, BANDS)


def clients(number):
    rng = np.random.default_rng(41)
    for _ in range(number):
        loss = np.cumsum(np.abs(rng.normal(6, 4, TONES)))
        curve = np.interp(np.linspace(0, TONES - 1, BANDS), np.arange(TONES), loss)
        speech = rng.normal(55, 12, (STEPS, FRAMES, BANDS)) - np.linspace(0, 20, BANDS)
        yield {
            "audiogram": (loss / 100).astype(np.float32),
            "threshold": (curve / 100).astype(np.float32),
            "speech": (speech / 100).astype(np.float32),
        }


def init(key):
    layers = []
    for fan_in, fan_out in zip(SIZES, SIZES[1:]):
        key, sub = jax.random.split(key)
        layers.append({"w": jax.random.normal(sub, (fan_in, fan_out)) / fan_in**0.5, "b": jnp.zeros(fan_out)})
    return layers


def gains(params, speech, audiogram):
    x = jnp.concatenate([speech, jnp.broadcast_to(audiogram, (len(speech), TONES))], axis=-1)
    for layer in params[:-1]:
        x = jax.nn.gelu(x @ layer["w"] + layer["b"])
    return jax.nn.softplus(x @ params[-1]["w"] + params[-1]["b"])


def loudness(level, threshold):
    return jax.nn.softplus(20 * (level - threshold)) ** 0.6


def loss_of(params, speech, audiogram, threshold):
    gain = gains(params, speech, audiogram)
    heard = loudness(speech + gain, threshold)
    normal = loudness(speech, 0.0)
    return jnp.mean((heard - normal) ** 2) + 1e-3 * jnp.mean(gain**2)


def make_update(tx):
    @jax.jit
    def update(params, opt_state, speech, audiogram, threshold):
        loss, grads = jax.value_and_grad(loss_of)(params, speech, audiogram, threshold)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return update


def fit(client, params, opt_state, tx, update=None):
    """Tunes a copy of the common network to one client."""
    update = update or make_update(tx)
    for speech in client["speech"]:
        params, opt_state, loss = update(params, opt_state, speech, client["audiogram"], client["threshold"])
    return params, float(loss)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    common = init(jax.random.key(41))
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    fresh = tx.init(common)
    update = None if args.fault else make_update(tx)

    waiting = list(clients(5))
    for client in waiting[:2]:
        fit(client, common, fresh, tx, update)
    jax.profiler.start_trace(args.logdir)
    results = [fit(client, common, fresh, tx, update) for client in waiting[2:]]
    jax.profiler.stop_trace()
    print("losses", [round(loss, 3) for _, loss in results])


if __name__ == "__main__":
    main()
