"""Of a Hessian that is read at single places, the products with the directions that are read: not all of it is computed.

https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html#hessian-vector-products-using-both-forward-and-reverse-mode
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.names import unused
from tfadvisor.repair.reading.program import Change, Program, dotted, instead, pairs, text_of

_WHOLE = ("jax.hessian", "hessian")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each such Hessian."""
    found = []
    for call in program.all(cst.Call) if "jnp" in program.source else ():
        made = call.func
        if not isinstance(made, cst.Call) or dotted(made.func) not in _WHOLE or len(made.args) != 1:
            continue
        if len(call.args) != 1 or not isinstance(call.args[0].value, cst.Name):
            continue
        changes = _by_directions(program, call)
        if changes:
            first, last = program.lines(call)
            did = "products with the Hessian along the axes that are read"
            found.append(Hit(first, last, did, program.changed(changes)))
    return found


def _by_directions(program: Program, call: Any) -> dict[cst.CSTNode, Change]:
    """The Hessian as a function of row and column, and its readings as calls of it; {} where it is read otherwise."""
    read = next(program.around(call))
    if isinstance(read, cst.Subscript):
        numbers = _numbers(read)
        return {read: instead(_entry(call, *numbers))} if numbers else {}
    names = [str(target.value) for target, value in pairs(program) if value is call and isinstance(target, cst.Name)]
    if len(names) != 1:
        return {}
    row, column = unused(program, "row"), unused(program, "column")
    changes: dict[cst.CSTNode, Change] = {call: instead(f"lambda {row}, {column}: {_entry(call, row, column)}")}
    for use in (one for one in program.all(cst.Name) if one.value == names[0]):
        around = next(program.around(use))
        if isinstance(around, cst.AssignTarget) or _is_target(program, use):
            continue
        if program.scope(use) is not program.scope(call) and program.scope(call) not in program.around(use):
            continue
        numbers = _numbers(around) if isinstance(around, cst.Subscript) and around.value is use else ()
        if not numbers:
            return {}
        changes[around] = instead(f"{names[0]}({', '.join(numbers)})")
    return changes if len(changes) > 1 else {}


def _is_target(program: Program, use: Any) -> bool:
    return program.inside(use, cst.AssignTarget) is not None


def _entry(call: Any, row: str, column: str) -> str:
    function, point = text_of(call.func.args[0].value), text_of(call.args[0].value)
    jax = "jax." if dotted(call.func.func).startswith("jax.") else ""
    along = f"jnp.zeros_like({point}).at[{column}].set(1.0)"
    return f"{jax}jvp({jax}grad({function}), ({point},), ({along},))[1][{row}]"


def _numbers(read: Any) -> tuple[str, ...]:
    """`[0, 1]` of numbers."""
    if len(read.slice) != 2:
        return ()
    found = [one.slice.value for one in read.slice if isinstance(one.slice, cst.Index)]
    plain = [one for one in found if isinstance(one, cst.Integer)]
    return tuple(text_of(one) for one in plain) if len(plain) == 2 else ()
