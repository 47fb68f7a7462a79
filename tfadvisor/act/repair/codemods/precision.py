"""The number of bits that a program computes with."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.reading.program import Change, Program, dotted, instead, removed, text_of
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
    named: dict[cst.CSTNode, Change] = {
        one: instead(dotted(one).replace("float64", "float32"))
        for one in program.all(cst.Attribute)
        if dotted(one) in ("jnp.float64", "jax.numpy.float64")
    }
    if named:
        first, _ = program.lines(next(iter(named)))
        return [Hit(first, first, "float32 instead of float64", program.changed(named))]
    found = []
    for line in program.all(cst.SimpleStatementLine):
        first, last = program.lines(line)
        text = text_of(line.body[0])
        if len(line.body) == 1 and _FLOATX.search(text) and program.calls("fit"):
            value = line.body[0].value.args[0].value
            found.append(Hit(first, last, "float32 for Keras", program.changed({value: instead('"float32"')})))
        elif (
            len(line.body) == 1
            and _SWITCH.search(text)
            and not _is_explained(line)
            and not _LONG.search(program.source)
        ):
            found.append(Hit(first, last, f"no {text[:60]}", program.changed({line: removed(program, line)})))
    return found


def _is_explained(line: Any) -> bool:
    above = line.leading_lines[-1].comment if line.leading_lines else None
    return line.trailing_whitespace.comment is not None or above is not None


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
    return [Hit(1, len(program.source.splitlines()), f"policy {policy}", program.changed({}, line=line))]
