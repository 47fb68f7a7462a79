"""Estimates the partials of church bells (hum, prime, tierce, quint, nominal ...) by analysis through synthesis."""
import queue
import sys
import threading

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

LOGDIR = sys.argv[1]

RATE = 8000
SAMPLES = 8192
PARTIALS = 12
BATCH = 12
WARMUP, RECORD = 6, 11


def strike(rng):
    nominal = rng.uniform(500, 1200)
    ratios = np.array([0.25, 0.5, 0.6, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0]) * rng.normal(1, 0.01, 10)
    t = np.arange(SAMPLES, dtype=np.float32) / RATE
    decay = np.exp(-t[None] * rng.uniform(0.5, 6, 10)[:, None]) * rng.uniform(0.1, 1, 10)[:, None]
    wave = (decay * np.sin(2 * np.pi * nominal * ratios[:, None] * t)).sum(0)
    return wave / np.abs(wave).max()


class Feeder(threading.Thread):
    """Mixes recordings with tower noise ahead of the training."""

    def __init__(self, strikes, seed):
        super().__init__(daemon=True)
        self.strikes, self.rng = strikes, np.random.default_rng(seed)
        self.ready = queue.Queue(maxsize=4)
        self.done = threading.Event()

    def run(self):
        while not self.done.is_set():
            rows = self.rng.integers(0, len(self.strikes), BATCH)
            noise = self.rng.standard_normal((BATCH, SAMPLES), dtype=np.float32)
            batch = self.strikes[rows] * self.rng.uniform(0.7, 1, (BATCH, 1)).astype(np.float32) + 0.01 * noise
            while not self.done.is_set():
                try:
                    self.ready.put(batch, timeout=0.5)
                    break
                except queue.Full:
                    continue


class Analyser(eqx.Module):
    convs: list[eqx.nn.Conv1d]
    head: eqx.nn.MLP

    def __init__(self, key):
        *ks, last = jax.random.split(key, 5)
        widths = [1, 32, 48, 64, 96]
        self.convs = [eqx.nn.Conv1d(i, o, 9, stride=4, padding=4, key=k) for i, o, k in zip(widths, widths[1:], ks)]
        self.head = eqx.nn.MLP(96, 3 * PARTIALS, 128, 2, key=last)

    def __call__(self, wave):
        x = wave[None]
        for conv in self.convs:
            x = jax.nn.gelu(conv(x))
        pitch, loud, decay = jnp.split(self.head(x.mean(-1)), 3)
        base = jnp.linspace(150.0, 2800.0, PARTIALS)
        return base * jnp.exp(0.5 * jnp.tanh(pitch)), jax.nn.softplus(loud), 0.3 + 6 * jax.nn.sigmoid(decay)


def synthesise(pitch, loud, decay):
    t = jnp.arange(SAMPLES) / RATE
    return jnp.sum(loud[:, None] * jnp.exp(-decay[:, None] * t) * jnp.sin(2 * jnp.pi * pitch[:, None] * t), axis=0)


def spectrum(wave, size):
    frames = jnp.reshape(wave[: SAMPLES // size * size], (-1, size)) * jnp.hanning(size)
    return jnp.log1p(jnp.abs(jnp.fft.rfft(frames)))


def spectral_loss(model, waves):
    def one(wave):
        guess = synthesise(*model(wave))
        return sum(jnp.mean(jnp.abs(spectrum(guess, s) - spectrum(wave, s))) for s in (256, 512, 1024, 2048))

    return jnp.mean(jax.vmap(one)(waves))


tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(5e-4))


@eqx.filter_jit(donate="all-except-first")
def train_step(waves, model, opt_state):
    loss, grads = eqx.filter_value_and_grad(spectral_loss)(model, waves)
    updates, opt_state = tx.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, loss


def main():
    rng = np.random.default_rng(9)
    feeder = Feeder(np.stack([strike(rng) for _ in range(60)]).astype(np.float32), 10)
    feeder.start()
    model = Analyser(jax.random.key(9))
    opt_state = tx.init(eqx.filter(model, eqx.is_array))
    for _ in range(WARMUP):
        model, opt_state, loss = train_step(jnp.asarray(feeder.ready.get()), model, opt_state)
    print("start", float(loss))
    with jax.profiler.trace(LOGDIR):
        for _ in range(RECORD):
            model, opt_state, loss = train_step(jnp.asarray(feeder.ready.get()), model, opt_state)
        loss.block_until_ready()
    feeder.done.set()
    print("spectral loss", float(loss))


if __name__ == "__main__":
    main()
