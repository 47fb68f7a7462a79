"""The number of bits that a program computes with."""

from __future__ import annotations

import ast
import re

from tfadvisor.act.repair.reading.program import Program, dotted, text_of
from tfadvisor.act.repair.registry import Hit, Place

_SWITCH = re.compile(
    r"""config\.update\(\s*["']jax_enable_x64["']\s*,\s*True\s*\)$|config\.jax_enable_x64\s*=\s*True$
    |environ\[["']JAX_ENABLE_X64["']\]\s*=\s*["'](1|True|true)["']$""",
    re.X,
)
_FLOATX = re.compile(r"set_floatx\(\s*[\"']float64[\"']\s*\)$")
_LONG = re.compile(r"\bu?int64\b")


def single_precision(program: Program, _place: Place) -> list[Hit]:
    """64 bits that JAX was told to use become 32: the types that the program names, else the switch itself.

    One for all types that are named, or one for each switch.
    A switch that its author has a comment for stays, and so does one that whole numbers of 64 bits need.
    https://docs.jax.dev/en/latest/default_dtypes.html
    """
    named = [one for one in program.all(ast.Attribute) if dotted(one) in ("jnp.float64", "jax.numpy.float64")]
    if named:
        edits = [program.instead(one, program.written(one).replace("float64", "float32")) for one in named]
        return [program.hit(named[0], "float32 instead of float64", *edits)]
    found = []
    for line in program.lone_lines():
        text = text_of(line)
        if _FLOATX.search(text) and program.calls("fit"):
            found.append(program.hit(line, "float32 for Keras", program.instead(line.value.args[0], '"float32"')))
        elif _SWITCH.search(text) and not program.is_explained(line) and not _LONG.search(program.source):
            found.append(program.hit(line, f"no {text[:60]}", program.removed(line)))
    return found


_HALF = "mixed_float16"


def mixed_precision(program: Program, place: Place) -> list[Hit]:
    """A policy of 16 bits for Keras: products run on Tensor Cores, variables stay in 32 bits.

    One for a program that builds Keras layers and sets no policy.
    https://www.tensorflow.org/guide/mixed_precision
    """
    if "mixed_precision" in program.source or not program.calls(
        "Dense", "Conv2D", "Conv1D", "Embedding", "MultiHeadAttention"
    ):
        return []
    keras = "keras" if program.imports("keras") else "tf.keras" if program.imports("tensorflow") else ""
    if not keras:
        return []
    policy = _HALF if _HALF in place.snippets else "mixed_bfloat16"
    line = f'{keras}.mixed_precision.set_global_policy("{policy}")'
    return [program.hit(program.tree.body[0], f"policy {policy}", program.line_behind_imports(line))]
