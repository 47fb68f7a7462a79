"""`next(iter(dataset))` in a loop builds the pipeline anew for each batch: one iterator before the loop does not.

https://www.tensorflow.org/guide/data#consuming_elements
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.compiled import assigned_in
from tfadvisor.repair.reading.names import unused
from tfadvisor.repair.reading.program import Change, Program, before, called, instead, names_in, text_of


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each iterator that a loop makes in every turn."""
    found = []
    for call in program.calls("next"):
        made = call.args[0].value if call.args else None
        loop = _loop_around(program, call)
        if not isinstance(made, cst.Call) or called(made) != "iter" or loop is None:
            continue
        if names_in(made) & assigned_in(loop):
            continue
        name = unused(program, "iterator")
        changes: dict[cst.CSTNode, Change] = {
            made: instead(name),
            loop: before(program, f"{name} = {text_of(made)}\n"),
        }
        first, last = program.lines(call)
        found.append(Hit(first, last, "one iterator for all steps", program.changed(changes)))
    return found


def _loop_around(program: Program, node: Any) -> Any:
    """The loop that runs it, none that only holds the function in which it stands."""
    inner = program.inside(node, cst.For, cst.While, cst.FunctionDef, cst.Lambda)
    return inner if isinstance(inner, cst.For | cst.While) else None
