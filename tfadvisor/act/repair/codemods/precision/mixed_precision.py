"""A policy of 16 bits for Keras: products run on Tensor Cores, variables stay in 32 bits.

https://www.tensorflow.org/guide/mixed_precision
"""

from __future__ import annotations

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Program

_HALF = "mixed_float16"


def hits(program: Program, place: Place) -> list[Hit]:
    """One for a program that builds Keras layers and sets no policy."""
    if "mixed_precision" in program.source or not program.calls(
        "Dense", "Conv2D", "Conv1D", "Embedding", "MultiHeadAttention"
    ):
        return []
    keras = "keras" if program.imports("keras") else "tf.keras" if program.imports("tensorflow") else ""
    if not keras:
        return []
    policy = _HALF if _HALF in place.snippets else "mixed_bfloat16"
    line = f'{keras}.mixed_precision.set_global_policy("{policy}")'
    return [Hit(1, len(program.source.splitlines()), f"policy {policy}", program.changed({}, helper=line))]
