"""64 bits that JAX was told to use become 32: the types that the program names, else the switch itself.

A switch that its author has a comment for stays, and so does one that whole numbers of 64 bits need.
https://docs.jax.dev/en/latest/default_dtypes.html
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.codemods.loop.drop_wait import removed
from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Change, Program, dotted, instead, text_of

_SWITCH = re.compile(
    r"""config\.update\(\s*["']jax_enable_x64["']\s*,\s*True\s*\)$|config\.jax_enable_x64\s*=\s*True$
    |environ\[["']JAX_ENABLE_X64["']\]\s*=\s*["'](1|True|true)["']$""",
    re.X,
)
_FLOATX = re.compile(r"set_floatx\(\s*[\"']float64[\"']\s*\)$")
_LONG = re.compile(r"\bu?int64\b")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for all types that are named, or one for each switch."""
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
            source = program.changed({value: instead('"float32"')})
            found.append(Hit(first, last, "float32 for Keras", source))
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
