"""A loop that computes one row after another and writes each in its place becomes one `jax.vmap` over all rows.

https://docs.jax.dev/en/latest/automatic-vectorization.html
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.program import Change, Program, called, dotted, instead, names_in, text_of


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each `fori_loop` that sets rows, and for each `jax.lax.map`."""
    found = []
    for call in program.calls("fori_loop", "map"):
        text = _rows_at_once(call) if called(call) == "fori_loop" else _mapped(call)
        if text is None:
            continue
        first, last = program.lines(call)
        changes: dict[cst.CSTNode, Change] = {call: instead(text)}
        found.append(Hit(first, last, "jax.vmap over all rows", program.changed(changes)))
    return found


def _mapped(call: Any) -> str | None:
    if dotted(call.func) not in ("jax.lax.map", "lax.map") or len(call.args) != 2:
        return None
    return f"jax.vmap({text_of(call.args[0].value)})({text_of(call.args[1].value)})"


def _rows_at_once(call: Any) -> str | None:
    """`fori_loop(0, n, lambda i, rows: rows.at[i].set(f(i)), rows)`, where f does not read the rows."""
    if len(call.args) != 4 or text_of(call.args[0].value) != "0":
        return None
    body, rows = call.args[2].value, text_of(call.args[3].value)
    if not isinstance(body, cst.Lambda) or len(body.params.params) != 2:
        return None
    index, carried = (str(one.name.value) for one in body.params.params)
    written = body.body
    if (
        not isinstance(written, cst.Call)
        or text_of(written.func) != f"{carried}.at[{index}].set"
        or len(written.args) != 1
    ):
        return None
    value = written.args[0].value
    if carried in names_in(value):
        return None
    count = text_of(call.args[1].value)
    return f"{rows}.at[:{count}].set(jax.vmap(lambda {index}: {text_of(value)})(jnp.arange({count})))"
