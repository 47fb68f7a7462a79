import os
import time

import jax
import jax.numpy as jnp
import numpy as np

AMINO, NUM_MSA, C_M, C_Z, BLOCKS, RECYCLES, BINS = 21, 12, 24, 16, 3, 3, 50


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def evoformer_block(p, m, z, mask):
    pair_mask = mask[:, None] * mask[None]
    q, k, v, gate = jnp.split(layer_norm(m) @ p["qkvg"], 4, -1)
    logits = jnp.einsum("sic,sjc->sij", q, k) / C_M**0.5 + (layer_norm(z) @ p["bias"])[..., 0]
    weights = jax.nn.softmax(jnp.where(mask > 0, logits, -1e9))
    m = m + (jax.nn.sigmoid(gate) * jnp.einsum("sij,sjc->sic", weights, v)) @ p["out"]
    m = m + jax.nn.relu(layer_norm(m) @ p["m_up"]) @ p["m_down"]
    a, b = jnp.split(layer_norm(m) @ p["outer"], 2, -1)
    z = z + jnp.einsum("sic,sjd->ijcd", a, b).reshape(*z.shape[:2], -1) @ p["outer_out"] / NUM_MSA
    for name, equation in ("outgoing", "ikc,jkc->ijc"), ("incoming", "kic,kjc->ijc"):
        left, right, gate = jnp.split(layer_norm(z) @ p[name], 3, -1)
        product = jnp.einsum(equation, left * pair_mask[..., None], right * pair_mask[..., None])
        z = z + (jax.nn.sigmoid(gate) * layer_norm(product)) @ p[name + "_out"]
    return m, z + jax.nn.relu(layer_norm(z) @ p["z_up"]) @ p["z_down"]


def alphafold(params, feat):
    mask, m = feat["seq_mask"], feat["msa_feat"] @ params["msa"]
    residue = jnp.arange(len(mask))
    offset = jax.nn.one_hot(jnp.clip(residue[:, None] - residue[None], -16, 16) + 16, 33)
    z = offset @ params["relpos"] + m[0, :, None, :C_Z] + m[0, None, :, -C_Z:] + feat["prev"]
    for p in params["blocks"]:
        m, z = evoformer_block(p, m, z, mask)
    confidence = jax.nn.softmax(m[0] @ params["plddt"])
    return {"plddt": 100 * confidence @ (jnp.arange(BINS) + 0.5) / BINS, "prev": layer_norm(z)}


class RunModel:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        w = lambda i, o: jnp.asarray(rng.normal(0, i**-0.5, (i, o)), "float32")
        triangle = lambda n: {n: w(C_Z, 3 * C_Z), n + "_out": w(C_Z, C_Z)}
        block = lambda: {
            **{"qkvg": w(C_M, 4 * C_M), "out": w(C_M, C_M), "bias": w(C_Z, 1)},
            **{"outer": w(C_M, 16), "outer_out": w(64, C_Z)},
            **{"m_up": w(C_M, 2 * C_M), "m_down": w(2 * C_M, C_M), "z_up": w(C_Z, 2 * C_Z), "z_down": w(2 * C_Z, C_Z)},
            **triangle("outgoing"),
            **triangle("incoming"),
        }
        self.params = {"msa": w(AMINO, C_M), "relpos": w(33, C_Z), "plddt": w(C_M, BINS)}
        self.params["blocks"] = [block() for _ in range(BLOCKS)]
        self.apply = jax.jit(alphafold)

    def predict(self, feat):
        length = len(feat["seq_mask"])
        result = {"prev": jnp.zeros((length, length, C_Z))}
        for _ in range(RECYCLES):
            result = self.apply(self.params, {**feat, "prev": result["prev"]})
        return jax.device_get(result)


def make_features(rng, sequence):
    keep = rng.random((NUM_MSA, len(sequence))) < 0.7
    msa = np.where(keep, sequence, rng.integers(0, AMINO, keep.shape))
    msa[0] = sequence
    return {"msa_feat": np.eye(AMINO, dtype="float32")[msa], "seq_mask": np.ones(len(sequence), "float32")}


rng, model_runner = np.random.default_rng(0), RunModel(0)
lengths = rng.integers(40, 110, int(os.environ.get("STEPS", 12)))
queries = [(f"query_{i}", rng.integers(0, AMINO, length)) for i, length in enumerate(lengths)]
for jobname, query_sequence in queries:
    start = time.time()
    result = model_runner.predict(make_features(rng, query_sequence))
    print(f"{jobname} length {len(query_sequence)} plddt {result['plddt'].mean():.2f}", end=" ")
    print(f"took {time.time() - start:.1f} s", flush=True)
