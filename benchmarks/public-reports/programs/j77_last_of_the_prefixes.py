import os

import jax
import jax.numpy as jnp
import numpy as np

SHOTS, TERMS, FACTORS, QUBITS, OUTPUTS = 256, 80, 12, 24, 4


def multiply(a, b):
    (pa, ca), (pb, cb) = a, b
    a0, a1, a2, a3 = jnp.moveaxis(ca, -1, 0)
    b0, b1, b2, b3 = jnp.moveaxis(cb, -1, 0)
    coeffs = jnp.stack([
        a0 * b0 - a1 * b3 - a2 * b2 - a3 * b1, a0 * b1 + a1 * b0 - a2 * b3 - a3 * b2,
        a0 * b2 + a1 * b1 + a2 * b0 - a3 * b3, a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0], axis=-1)
    return halved(pa + pb, coeffs)


def add(a, b):
    (pa, ca), (pb, cb) = a, b
    low = jnp.minimum(pa, pb)
    return halved(low, (ca << (pa - low)[..., None]) + (cb << (pb - low)[..., None]))


def halved(power, coeffs):
    even = jnp.all(coeffs % 2 == 0, axis=-1) & jnp.any(coeffs != 0, axis=-1)
    return power + even, jnp.where(even[..., None], coeffs // 2, coeffs)


def reduce(op, scalars, axis):
    power, coeffs = jax.lax.associative_scan(op, scalars, axis=axis)
    return jnp.take(power, -1, axis=axis), jnp.take(coeffs, -1, axis=axis)


def unit(eighths):
    sign = jnp.where(eighths >= 4, -1, 1)
    return sign[..., None] * jax.nn.one_hot(eighths % 4, 4, dtype=jnp.int32)


def scalar_to_complex(power, coeffs):
    return jnp.exp2(power.astype(jnp.float32)) * (coeffs @ jnp.exp(0.25j * jnp.pi * jnp.arange(4)))


def amplitude(graph, bits):
    flips = (bits.astype(jnp.float32) @ graph["mask"]).astype(jnp.int32)
    angles = (graph["offset"] + flips.reshape(-1, TERMS, FACTORS)) % 8
    factors = jnp.array([1, 0, 0, 0]) + unit(angles)
    power, coeffs = reduce(multiply, (jnp.zeros(angles.shape, jnp.int32), factors), 2)
    power, coeffs = reduce(add, multiply((power, coeffs), (jnp.zeros_like(power), unit(graph["phase"]))), 1)
    return jnp.abs(scalar_to_complex(power, coeffs)) ** 2


@jax.jit
def sample_output(graph, bits, key, position):
    one = bits.at[:, QUBITS + position].set(1)
    p0, p1 = jnp.split(amplitude(graph, jnp.concatenate([bits, one])), 2)
    drawn = jax.random.uniform(jax.random.fold_in(key, position), (SHOTS,)) * (p0 + p1) < p1
    return jnp.where(drawn[:, None], one, bits)


def make_graph(rng):
    mask = 4.0 * (rng.random((QUBITS + OUTPUTS, TERMS * FACTORS)) < 0.12)
    offset, phase = rng.choice([1, 2, 3, 5, 6, 7], (TERMS, FACTORS)), rng.integers(0, 8, TERMS)
    return {"mask": jnp.asarray(mask, jnp.float32), "offset": jnp.asarray(offset), "phase": jnp.asarray(phase)}


rng = np.random.default_rng(0)
graphs = [make_graph(rng) for _ in range(OUTPUTS)]
counts, key = np.zeros(OUTPUTS), jax.random.key(0)
for batch in range(int(os.environ.get("STEPS", 250))):
    errors = jnp.asarray(rng.random((SHOTS, QUBITS)) < 0.05, jnp.int32)
    bits = jnp.pad(errors, ((0, 0), (0, OUTPUTS)))
    for position, graph in enumerate(graphs):
        bits = sample_output(graph, bits, jax.random.fold_in(key, batch), position)
    counts += np.asarray(bits)[:, QUBITS:].sum(0)
    if batch % 25 == 0:
        print(f"batch {batch}: flips {np.round(counts / (SHOTS * (batch + 1)), 3)}", flush=True)
